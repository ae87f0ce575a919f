// The cells of a program whose law of classes jumps: in each the law is constant, and nothing is regressed.

import {Matrix, timesTransposed} from "../../numbers/matrix.js"
import {logSoftmax, softplus} from "../../numbers/special.js"
import {kept} from "../encoders/units.js"
import {NumbersOfCells} from "./cell_posterior.js"
import {NEGLIGIBLE, SHOWN} from "./cells.js"
import {Grid} from "./grids.js"
import {StepsSolved} from "./steps_solved.js"

const DEFAULTS = {cells: 4096, dimensions: 2, rank: 192}

export function buildStepSolver(weights, settings, problem) {
  return new StepRegression(weights, {...DEFAULTS, ...settings}, problem)
}

class StepRegression {
  guessesLatents = true

  constructor(weights, {cells, dimensions, rank}, problem) {
    const grid = new Grid(weights.under("grid"), problem.num_features)
    const [basis, curves] = [weights.matrix("basis", grid.numNodes, rank), problem.outcome.count - 1]
    const odds = new Matrix(cells * curves, rank, weights.vector("odds", cells, curves, rank))
    this.logWeights = weights.vector("log_weights", cells)
    const count = problem.latents.reduce((sum, {size}) => sum + size, 0)
    this.table = new NumbersOfCells(
      new Matrix(cells * count, dimensions + 1, weights.vector("numbers", cells, count, dimensions + 1)),
      weights.vector("number_variance", cells, count), count)
    this.dimensions = dimensions
    this.shown = Math.min(SHOWN, cells)
    this.numNumbers = 3 * this.shown + 4
    this._odds = kept((x) => timesTransposed(odds, grid.interpolated(basis, x)))
    this.curves = curves
  }

  numberIn(cell, number) {
    return this.table.at(cell, number)
  }

  /** Log probabilities of all classes in a cell, an array over points for each. */
  logProbs(x, cell) {
    const odds = this._odds(x)
    const later = new Float64Array(x.rows)
    const found = Array.from({length: this.curves}, (_, c) => odds.row(cell * this.curves + c).map((value, i) => {
      const told = later[i] - softplus(-value)
      later[i] -= softplus(value)
      return told
    }))
    return [...found, later]
  }

  condition(x, y) {
    const weights = this.logWeights.map((logWeight, cell) => {
      const logProbs = this.logProbs(x, cell)
      return y.reduce((sum, label, i) => sum + logProbs[label][i], logWeight)
    })
    const best = weights.reduce((most, value) => Math.max(most, value), -Infinity)
    const identity = new Matrix(this.dimensions, this.dimensions)
    for (let d = 0; d < this.dimensions; d++) {
      identity.row(d)[d] = 1
    }
    const found = Array.from(weights.keys()).filter((cell) => weights[cell] >= best - NEGLIGIBLE)
      .map((cell) => ({cell, state: new Float64Array(this.dimensions), spread: identity}))
    return new StepsSolved(this, found, logSoftmax(Float64Array.from(found, ({cell}) => weights[cell])), {x, y})
  }
}
