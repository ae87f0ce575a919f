// Regressions on two classes, by expectation propagation: the counterpart of gaussian.js for labels.

import {inverted, logDeterminant, Matrix, transposed} from "../../numbers/matrix.js"
import {clamp, erfc} from "../../numbers/special.js"
import {ByFeatures, factorOf, gram, product, timesLower} from "./gaussian.js"

const STEPS = [1, 0.9, 0.9, 0.6, 0.6]
export const LEAST_MARGIN = -37
const EPSILON = 2 ** -52

export const probability = (margin) => 0.5 * erfc(-Math.SQRT1_2 * margin)

export const bounded = (margin) => clamp(margin, LEAST_MARGIN, -LEAST_MARGIN)

/** Condition on labels, y = sign(w . phi + e) with w ~ N(0, I) and e ~ N(0, 1); an empty context leaves the prior. */
export function classify(phi, signs) {
  const rows = new Matrix(phi.rows, phi.columns) // multiplied by the signs, so that all labels are positive
  rows.data.forEach((_, at) => { rows.data[at] = phi.data[at] * signs[Math.floor(at / phi.columns)] })
  const count = phi.rows
  const nothing = new Float64Array(count)
  const variance = nothing.map((_, i) => product(rows.row(i), rows.row(i)))
  let sites = updated({precision: nothing, shift: nothing}, {mean: nothing, variance}, STEPS[0])
  for (const step of STEPS.slice(1)) {
    sites = updated(sites, posteriorOf(rows, sites).leftOut, step)
  }
  const last = posteriorOf(rows, sites)
  const leftOut = {mean: last.leftOut.mean.map((value, i) => value * signs[i]), variance: last.leftOut.variance}
  return {solution: new ByFeatures(last.whitener, last.white, logEvidence(sites, last)), leftOut}
}

/** The regression whose values and noise the sites say. */
function posteriorOf(rows, {precision, shift}) {
  const roots = new Matrix(rows.rows, rows.columns)
  roots.data.forEach((_, at) => {
    roots.data[at] = rows.data[at] * Math.sqrt(precision[Math.floor(at / rows.columns)])
  })
  const factor = factorOf(gram(transposed(roots)))
  const whitener = inverted(factor)
  const known = timesLower(rows, whitener) // (points, features)
  const white = new Float64Array(rows.columns)
  for (let i = 0; i < rows.rows; i++) {
    known.row(i).forEach((value, k) => { white[k] += value * shift[i] })
  }
  const [mean, left, spread] = [0, 1, 2].map(() => new Float64Array(rows.rows))
  for (let i = 0; i < rows.rows; i++) {
    const row = known.row(i)
    mean[i] = product(row, white)
    const variance = product(row, row)
    const rest = Math.max(1 - precision[i] * variance, EPSILON)
    left[i] = (mean[i] - shift[i] * variance) / rest
    spread[i] = variance / rest
  }
  return {factor, whitener, white, mean, leftOut: {mean: left, variance: spread}}
}

/** Sites on their way to give each point the moments of its label's likelihood times all the other sites. */
function updated(sites, {mean, variance}, step) {
  const [precision, shift] = [sites.precision.slice(), sites.shift.slice()]
  for (let i = 0; i < precision.length; i++) {
    const narrow = 1 / Math.sqrt(1 + variance[i])
    const margin = Math.max(mean[i] * narrow, LEAST_MARGIN)
    const ratio = Math.sqrt(2 / Math.PI) * Math.exp(-0.5 * margin * margin) / erfc(-Math.SQRT1_2 * margin)
    const slope = ratio * narrow
    const curvature = slope * (margin + ratio) * narrow
    const rest = 1 - variance[i] * curvature // of the variance, what the label leaves
    precision[i] += step * (curvature / rest - precision[i])
    shift[i] += step * ((slope + mean[i] * curvature) / rest - shift[i])
  }
  return {precision, shift}
}

/** The log probability of the labels, as expectation propagation approximates it. */
function logEvidence({precision, shift}, last) {
  let sum = -logDeterminant(last.factor)
  for (let i = 0; i < precision.length; i++) {
    const [mean, variance] = [last.leftOut.mean[i], last.leftOut.variance[i]]
    const label = Math.log(probability(Math.max(mean / Math.sqrt(1 + variance), LEAST_MARGIN)))
    const scale = 1 + precision[i] * variance
    const quadratic = (mean * mean * precision[i] - 2 * shift[i] * mean - shift[i] * shift[i] * variance) / scale
    sum += label + 0.5 * (Math.log(scale) + quadratic + shift[i] * last.mean[i])
  }
  return sum
}
