// The posterior of a program's latents as a mixture over cells: a Normal of w in each, {cell, state, spread}.

import {Matrix} from "../../numbers/matrix.js"
import {logSoftmax} from "../../numbers/special.js"
import {guessOf} from "./cell_guess.js"
import {product, timesVector} from "./gaussian.js"

/** The numbers of the latents in all cells, in each of which they are linear in w. */
export class NumbersOfCells {
  constructor(lines, variances, count) {
    Object.assign(this, {lines, variances, count})
  }

  /** Mean, slope and variance of a number in a cell. */
  at(cell, number) {
    const place = cell * this.count + number
    const line = this.lines.row(place)
    return {mean: line[0], slope: line.subarray(1), variance: this.variances[place]}
  }
}

/** The first guess for some numbers of the latents, in their order. */
export function latentGuessOf({solver, found, logWeights}, numbers) {
  return guessOf(found.map(({cell, state, spread}, k) => {
    const each = numbers.map((number) => solver.numberIn(cell, number))
    return {
      logWeight: new Float64Array(numbers.length).fill(logWeights[k]),
      logShare: [new Float64Array(numbers.length)],
      loc: [each.map(({mean, slope}) => mean + product(slope, state))],
      scale: [each.map(({slope, variance}) => Math.sqrt(product(slope, timesVector(spread, slope)) + variance))],
    }
  }), solver.shown, numbers.length)
}

/** What is left of the cells when numbers of the latents are known: observations of w with no noise. */
export function givenNumbers({solver, found, logWeights}, numbers, coordinates) {
  const weights = logWeights.slice()
  const left = found.map((each, k) => {
    let {state, spread} = each
    numbers.forEach((number, place) => {
      const {mean, slope, variance} = solver.numberIn(each.cell, number)
      const moved = timesVector(spread, slope)
      const total = product(slope, moved) + variance
      const error = coordinates[place] - mean - product(slope, state)
      weights[k] -= 0.5 * (error * error / total + Math.log(total))
      state = state.map((value, d) => value + moved[d] * error / total)
      spread = new Matrix(spread.rows, spread.columns, spread.data.map((value, at) =>
        value - moved[Math.floor(at / moved.length)] * moved[at % moved.length] / total))
    })
    return {...each, state, spread}
  })
  return [left, logSoftmax(weights)]
}
