// Expectation propagation in a cell: for targets whose law is not Normal given its mean.

import {logDeterminant} from "../../numbers/matrix.js"
import {bilinear} from "./local.js"
import {before, posteriorOf} from "./posteriors.js"

const FIRST_STEPS = [1, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7] // share of the way to a site's new value, from nothing
export const FURTHER_STEPS = [0.7, 0.7] // from sites of a law that was nearly the same
const EPSILON = 2 ** -52

/** The posterior and the evidence, by some rounds from the sites of start; each curve has a site of its own. */
export function propagated(local, y, steps = FIRST_STEPS, start = null) {
  const nothing = () => local.mean.map(() => new Float64Array(y.length))
  const [precision, shift] = start ? [copied(start.precision), copied(start.shift)] : [nothing(), nothing()]
  let {state, spread, factor} = start ? posteriorOf(local.slope, precision, shift) : before(local)
  let [mean, variance] = start ? withoutSites(local, state, spread, precision, shift) : [nothing(), local.leverage(spread)]
  for (const step of steps) {
    local.moments(y, mean, variance).forEach((points, c) => points.forEach(({moved, curved}, i) => {
      const bend = Math.max(curved, 0)
      const rest = Math.max(1 - variance[c][i] * bend, EPSILON)
      precision[c][i] += step * (bend / rest - precision[c][i])
      shift[c][i] += step * ((moved + mean[c][i] * bend) / rest - shift[c][i])
    }))
    ;({state, spread, factor} = posteriorOf(local.slope, precision, shift))
    ;[mean, variance] = withoutSites(local, state, spread, precision, shift)
  }
  const fitted = local.fitted(state)
  let logEvidence = -logDeterminant(factor)
  local.moments(y, mean, variance).forEach((points, c) => points.forEach(({told}, i) => {
    const [own, known, spreads, moved] = [mean[c][i], precision[c][i], variance[c][i], shift[c][i]]
    const scale = 1 + known * spreads
    const quadratic = (own * own * known - 2 * moved * own - moved * moved * spreads) / scale
    logEvidence += told + 0.5 * (Math.log(scale) + quadratic + moved * fitted[c][i])
  }))
  return {state, spread, logEvidence, precision, shift}
}

const copied = (rows) => rows.map((row) => row.slice())

/** Mean and variance of slope . w at each point and curve without the site of that point and curve. */
function withoutSites(local, state, spread, precision, shift) {
  const [mean, variance] = [local.fitted(state), local.leverage(spread)]
  mean.forEach((fitted, c) => fitted.forEach((value, i) => {
    const rest = Math.max(1 - precision[c][i] * variance[c][i], EPSILON)
    fitted[i] = (value - shift[c][i] * variance[c][i]) / rest
    variance[c][i] /= rest
  }))
  return [mean, variance]
}

/** Mean and variance of slope . w at each point without the sites of all curves at that point, one by one. */
export function withoutPoints(local, {state, spread, precision, shift}) {
  const mean = local.fitted(state)
  const cross = local.slope.map((own) => local.slope.map((rows) => bilinear(own, spread, rows)))
  for (let i = 0; i < mean[0].length; i++) {
    for (let c = 0; c < mean.length; c++) {
      const own = cross.map((row) => row[c][i])
      const rest = Math.max(1 - precision[c][i] * own[c], EPSILON)
      const told = (precision[c][i] * mean[c][i] - shift[c][i]) / rest
      own.forEach((value, a) => {
        mean[a][i] += value * told
        own.forEach((other, b) => { cross[a][b][i] += precision[c][i] / rest * value * other })
      })
    }
  }
  return {mean, variance: cross.map((row, c) => row[c])}
}
