// What the cells of a program say of a context: the posterior of w in each that matters, and their weights.

import {classGuessOf} from "./cell_classes.js"
import {guessOf} from "./cell_guess.js"
import {givenNumbers, latentGuessOf} from "./cell_posterior.js"
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

  latentGuess(numbers) {
    return latentGuessOf(this, numbers)
  }

  given(numbers, coordinates) {
    return new CellsSolved(this.solver, ...givenNumbers(this, numbers, coordinates), null)
  }
}
