// Regressions on targets in a cell: the posterior of w, and the evidence of the cell.

import {inverted, logDeterminant, Matrix, transposed} from "../../numbers/matrix.js"
import {factorOf, gram, product, timesVector} from "./gaussian.js"
import {bilinear, logTotals} from "./local.js"

const ROUNDS = 4 // in which a law of several means finds out which of them each target came from
const STEPS = [1, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7]
const REFINEMENTS = 3
const EPSILON = 2 ** -52

/** Condition on targets: the posterior of w, and for each mean the precision and shift of each target's site. */
export function solved(local, y) {
  return local.variance.length === 1 || local.mean.length > 1 ? byResponsibilities(local, y) : propagated(local, y)
}

/** Linear regression; where the law has several means, by iterated responsibilities. */
function byResponsibilities(local, y) {
  let {state, spread} = before(local)
  const residual = local.mean.map((own) => own.map((value, i) => y[i] - value))
  let [precision, shift, factor] = []
  for (let round = 0; round < (local.variance.length === 1 ? 1 : ROUNDS); round++) {
    precision = local.variance.map((values) => values.map((value) => 1 / value))
    if (precision.length > 1) {
      const found = local.logDensities(y, local.fitted(state), local.leverage(spread))
      const totals = logTotals(found)
      precision = precision.map((values, b) => values.map((value, i) => value * Math.exp(found[b][i] - totals[i])))
    }
    shift = precision.map((values, c) => values.map((value, i) => value * residual[c][i]))
    ;({state, spread, factor} = posteriorOf(local.slope, precision, shift))
  }
  const densities = local.logDensity(y, local.fitted(state), [new Float64Array(y.length)])
  const logEvidence = densities.reduce((sum, value) => sum + value, 0) - 0.5 * product(state, state) - logDeterminant(factor)
  return {state, spread, logEvidence, precision, shift}
}

/** Expectation propagation, for a law of several Normals of one mean. */
function propagated(local, y) {
  let {state, spread, factor} = before(local)
  let mean = new Float64Array(y.length), [variance] = local.leverage(spread)
  const [precision, shift] = [mean.slice(), mean.slice()]
  for (const step of STEPS) {
    moments(local, y, mean, variance).forEach(({moved, curved}, i) => {
      const bend = Math.max(curved, 0)
      const rest = Math.max(1 - variance[i] * bend, EPSILON)
      precision[i] += step * (bend / rest - precision[i])
      shift[i] += step * ((moved + mean[i] * bend) / rest - shift[i])
    })
    ;({state, spread, factor} = posteriorOf(local.slope, [precision], [shift]))
    const [fitted, leverage] = [local.fitted(state)[0], local.leverage(spread)[0]]
    const rest = leverage.map((value, i) => Math.max(1 - precision[i] * value, EPSILON))
    mean = fitted.map((value, i) => (value - shift[i] * leverage[i]) / rest[i])
    variance = leverage.map((value, i) => value / rest[i])
  }
  const [fitted] = local.fitted(state)
  const logEvidence = moments(local, y, mean, variance).reduce((sum, {told}, i) => {
    const scale = 1 + precision[i] * variance[i]
    const quadratic = (mean[i] ** 2 * precision[i] - 2 * shift[i] * mean[i] - shift[i] ** 2 * variance[i]) / scale
    return sum + told + 0.5 * (Math.log(scale) + quadratic + shift[i] * fitted[i])
  }, -logDeterminant(factor))
  return {state, spread, logEvidence, precision: [precision], shift: [shift]}
}

/** The prior of w. */
function before({slope}) {
  const size = slope[0].length
  const spread = new Matrix(size, size)
  for (let k = 0; k < size; k++) {
    spread.data[k * size + k] = 1
  }
  return {state: new Float64Array(size), spread}
}

/** Mean and covariance of w given a site for each point and mean, and the factor of the precision. */
function posteriorOf(slope, precision, shift) {
  const size = slope[0].length, count = shift[0].length
  const [squares, right, weighted] = [new Matrix(size, size), new Float64Array(size), new Float64Array(count)]
  slope.forEach((rows, c) => {
    rows.forEach((row, k) => {
      right[k] += product(row, shift[c])
      for (let i = 0; i < count; i++) {
        weighted[i] = row[i] * precision[c][i]
      }
      for (let l = 0; l <= k; l++) { // Cholesky's algorithm reads no more
        squares.data[k * size + l] += product(weighted, rows[l])
      }
    })
  })
  const factor = factorOf(squares)
  const spread = gram(transposed(inverted(factor)))
  return {state: timesVector(spread, right), spread, factor}
}

/** The log density of each target where slope . w is Normal, its derivative in the mean, and minus the second one. */
function moments(local, y, mean, variance) {
  const found = local.logDensities(y, [mean], [variance])
  return Array.from(logTotals(found), (told, i) => {
    const parts = found.map((values, b) => {
      const total = variance[i] + local.variance[b][i]
      return {share: Math.exp(values[i] - told), pull: (y[i] - local.mean[0][i] - mean[i]) / total, total}
    })
    const moved = parts.reduce((sum, {share, pull}) => sum + share * pull, 0)
    const curved = parts.reduce((sum, {share, pull, total}) => sum + share * (1 / total - (pull - moved) ** 2), 0)
    return {told, moved, curved}
  })
}

/** Regression in a cell, linearised anew around its posterior; the law as it was at last, and the posterior. */
export function refined(curved, y) {
  let {local} = curved
  let found = solved(local, y)
  for (let k = 0; k < REFINEMENTS; k++) {
    local = curved.around(found.state, found.spread)
    found = solved(local, y)
  }
  return {local, ...found}
}

/** Mean and variance of slope . w at each point given all others: the site of the point is taken back. */
export function withoutEach(local, {state, spread, precision, shift}) {
  const [fitted, mean, variance] = [local.fitted(state), local.fitted(state), local.leverage(spread)]
  const crosses = local.slope.map((own) => local.slope.map((rows) => bilinear(own, spread, rows)))
  for (let i = 0; i < mean[0].length; i++) { // of several means a target told of the one that it most likely came from
    const most = precision.reduce((best, values, c) => values[i] > precision[best][i] ? c : best, 0)
    const told = precision[most][i]
    const rest = Math.max(1 - told * crosses[most][most][i], 1e-9)
    crosses[most].forEach((cross, c) => {
      mean[c][i] += cross[i] / rest * (told * fitted[most][i] - shift[most][i])
      variance[c][i] += told / rest * cross[i] ** 2
    })
  }
  return {mean, variance}
}
