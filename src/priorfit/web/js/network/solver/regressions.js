// Regressions on targets in a cell: the posterior of w, and the evidence of the cell.

import {logDeterminant} from "../../numbers/matrix.js"
import {product} from "./gaussian.js"
import {bilinear, logTotals} from "./local.js"
import {Odds} from "./odds.js"
import {before, posteriorOf} from "./posteriors.js"
import {FURTHER_STEPS, propagated, withoutPoints} from "./propagation.js"

const ROUNDS = 4 // in which a law of several means finds out which of them each target came from
const REFINEMENTS = 3

/** Condition on targets: the posterior of w, and for each mean the precision and shift of each target's site. */
export function solved(local, y) {
  const isClosed = local.variance.length === 1 || local.mean.length > 1
  return isClosed && !(local instanceof Odds) ? byResponsibilities(local, y) : propagated(local, y)
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

/** Regression in a cell, linearised anew around its posterior; the law as it was at last, and the posterior. */
export function refined(curved, y) {
  let {local} = curved
  let found = solved(local, y)
  for (let k = 0; k < REFINEMENTS; k++) {
    local = curved.around(found.state, found.spread)
    found = local instanceof Odds ? propagated(local, y, FURTHER_STEPS, found) : solved(local, y)
  }
  return {local, ...found}
}

/** Mean and variance of slope . w at each point given all others: the site of the point is taken back. */
export function withoutEach(local, found) {
  if (local instanceof Odds) {
    return withoutPoints(local, found)
  }
  const {state, spread, precision, shift} = found
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
