// What the cells of a program say of a context: the posterior of w in each that matters, and their weights.

import {Matrix} from "../../numbers/matrix.js"
import {logSoftmax} from "../../numbers/special.js"
import {classGuessOf} from "./cell_classes.js"
import {guessOf} from "./cell_guess.js"
import {product, timesVector} from "./gaussian.js"
import {logTotals, ofBranch, plus} from "./local.js"
import {Odds} from "./odds.js"
import {withoutEach} from "./regressions.js"

/** The regressions of the cells that a context leaves, {cell, state, spread, local, precision}, and their weights. */
export class CellsSolved {
  constructor(solver, found, logWeights, y) {
    Object.assign(this, {solver, found, logWeights, y})
  }

  predict(x) {
    const laws = this.solver.laws.at(x)
    return this._guess(this.found.map(({cell, state, spread}, k) => {
      const local = laws[cell].around(state, spread)
      const logWeight = new Float64Array(x.rows).fill(this.logWeights[k])
      return {local, mean: local.fitted(state), variance: local.leverage(spread), logWeight}
    }), x.rows)
  }

  /** Each cell loses the evidence that the point was for it. */
  leaveOneOut(count) {
    const cells = this.found.map((each, k) => {
      const {mean, variance} = withoutEach(each.local, each)
      const logWeight = each.local.logDensity(this.y, mean, variance).map((told) => this.logWeights[k] - told)
      return {local: each.local, mean, variance, logWeight}
    })
    const totals = logTotals(cells.map(({logWeight}) => logWeight))
    return this._guess(cells.map((cell) => ({...cell, logWeight: cell.logWeight.map((value, i) => value - totals[i])})), count)
  }

  /** The mixture of all cells and branches, and what tokens are told of it. */
  _guess(cells, count) {
    if (cells[0].local instanceof Odds) {
      const probabilities = cells.map(({local, mean, variance, logWeight}) => ({logWeight, logProbs: local.logProbs(mean, variance)}))
      return classGuessOf(probabilities, this.solver.shown, count)
    }
    return guessOf(cells.map(({local, mean, variance, logWeight}) => ({
      logWeight,
      logShare: local.logShare,
      loc: local.variance.map((_, b) => plus(ofBranch(local.mean, b), ofBranch(mean, b))),
      scale: local.variance.map((noise, b) => plus(noise, ofBranch(variance, b)).map(Math.sqrt)),
    })), this.solver.shown, count)
  }

  /** The first guess for some numbers of the latents, in their order. */
  latentGuess(numbers) {
    return guessOf(this.found.map(({cell, state, spread}, k) => {
      const each = numbers.map((number) => this.solver.laws.numberIn(cell, number))
      return {
        logWeight: new Float64Array(numbers.length).fill(this.logWeights[k]),
        logShare: [new Float64Array(numbers.length)],
        loc: [each.map(({mean, slope}) => mean + product(slope, state))],
        scale: [each.map(({slope, variance}) => Math.sqrt(product(slope, timesVector(spread, slope)) + variance))],
      }
    }), this.solver.shown, numbers.length)
  }

  /** What is kept of the context together with known numbers of the latents: observations of w with no noise. */
  given(numbers, coordinates) {
    const logWeights = this.logWeights.slice()
    const found = this.found.map((each, k) => {
      let {state, spread} = each
      numbers.forEach((number, place) => {
        const {mean, slope, variance} = this.solver.laws.numberIn(each.cell, number)
        const moved = timesVector(spread, slope)
        const total = product(slope, moved) + variance
        const error = coordinates[place] - mean - product(slope, state)
        logWeights[k] -= 0.5 * (error * error / total + Math.log(total))
        state = state.map((value, d) => value + moved[d] * error / total)
        spread = new Matrix(spread.rows, spread.columns, spread.data.map((value, at) =>
          value - moved[Math.floor(at / moved.length)] * moved[at % moved.length] / total))
      })
      return {...each, state, spread}
    })
    return new CellsSolved(this.solver, found, logSoftmax(logWeights), null)
  }
}
