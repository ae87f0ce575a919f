// What a context leaves of the cells in which a law of classes is constant.

import {classGuessOf} from "./cell_classes.js"
import {givenNumbers, latentGuessOf} from "./cell_posterior.js"
import {logTotals} from "./local.js"

/** The cells that a context leaves, {cell, state, spread}, and their weights. */
export class StepsSolved {
  constructor(solver, found, logWeights, context) {
    Object.assign(this, {solver, found, logWeights, context})
  }

  predict(x) {
    return classGuessOf(this.found.map(({cell}, k) => (
      {logProbs: this.solver.logProbs(x, cell), logWeight: new Float64Array(x.rows).fill(this.logWeights[k])}
    )), this.solver.shown, x.rows)
  }

  /** Each cell loses the evidence that the point was for it. */
  leaveOneOut(count) {
    const {x, y} = this.context
    const cells = this.found.map(({cell}, k) => {
      const logProbs = this.solver.logProbs(x, cell)
      return {logProbs, logWeight: Float64Array.from(y, (label, i) => this.logWeights[k] - logProbs[label][i])}
    })
    const totals = logTotals(cells.map(({logWeight}) => logWeight))
    return classGuessOf(cells.map(({logProbs, logWeight}) => (
      {logProbs, logWeight: logWeight.map((value, i) => value - totals[i])}
    )), this.solver.shown, count)
  }

  latentGuess(numbers) {
    return latentGuessOf(this, numbers)
  }

  given(numbers, coordinates) {
    return new StepsSolved(this.solver, ...givenNumbers(this, numbers, coordinates), null)
  }
}
