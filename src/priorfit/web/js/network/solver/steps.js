// The cells of a program whose law of classes jumps: in each the law is constant, and nothing is regressed.

import {Categorical} from "../../distributions/categorical.js"
import {Matrix, timesTransposed} from "../../numbers/matrix.js"
import {logSoftmax, logSumExp, softplus} from "../../numbers/special.js"
import {kept} from "../encoders/units.js"
import {entropyOf} from "./cell_classes.js"
import {largest} from "./cell_guess.js"
import {givenNumbers, latentGuessOf, NumbersOfCells} from "./cell_posterior.js"
import {Grid} from "./grids.js"
import {logTotals} from "./local.js"
import {LEAST_LOG_WEIGHT, TOKEN_SCALE} from "./mixtures.js"
import {FirstGuess} from "./solver.js"

const DEFAULTS = {cells: 4096, dimensions: 2, rank: 192}
const SHOWN = 4 // cells, those of the largest weights, whose guesses tokens are told one by one
const NEGLIGIBLE = 18 // cells whose log weight is so far below the largest are left out
const LEAST_PROBABILITY = 1e-12

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

/** The cells that a context leaves, {cell, state, spread}, and their weights. */
class StepsSolved {
  constructor(solver, found, logWeights, context) {
    Object.assign(this, {solver, found, logWeights, context})
  }

  predict(x) {
    return stepGuessOf(this.found.map(({cell}, k) => (
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
    return stepGuessOf(cells.map(({logProbs, logWeight}) => (
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

/** A mixture over cells, each with {logWeight} over points and {logProbs} with an array over points for each class. */
function stepGuessOf(cells, shown, count) {
  const classes = cells[0].logProbs.length
  const [logits, features] = [new Float64Array(count * classes), new Matrix(count, 3 * shown + 4)]
  for (let i = 0; i < count; i++) {
    const logWeights = Float64Array.from(cells, ({logWeight}) => logWeight[i])
    const weights = logWeights.map(Math.exp)
    const mixture = Array.from({length: classes}, (_, label) =>
      Math.max(cells.reduce((sum, {logProbs}, k) => sum + weights[k] * Math.exp(logProbs[label][i]), 0), LEAST_PROBABILITY))
    const total = mixture.reduce((sum, value) => sum + value, 0)
    const own = logits.subarray(i * classes, (i + 1) * classes)
    own.forEach((_, label) => { own[label] = Math.log(mixture[label] / total) })
    const best = own.indexOf(Math.max(...own))
    const probs = cells.map(({logProbs}) => Math.exp(logProbs[best][i]))
    const apart = probs.reduce((sum, value, k) => sum + weights[k] * (value - Math.exp(own[best])) ** 2, 0)
    const row = features.row(i)
    largest(logWeights, shown).forEach(([logWeight, k], place) => {
      const isThere = logWeight > LEAST_LOG_WEIGHT
      row[place] = isThere ? probs[k] : 0
      row[shown + place] = isThere ? entropyOf(cells[k].logProbs.map((each) => each[i])) : 0
      row[2 * shown + place] = Math.max(logWeight, LEAST_LOG_WEIGHT) / TOKEN_SCALE
    })
    row.set([own[best], entropyOf(own), apart, -logSumExp(logWeights.map((value) => 2 * value))], 3 * shown)
  }
  return new FirstGuess(new Categorical(classes, logits), features)
}
