// A law that is linear in a cell, at some points. Loops are plain: there are hundreds of cells.

import {clamp} from "../../numbers/special.js"

const FARTHEST = 5 // widths of a cell from its centre beyond which its law is not linearised anew
const LOG_2PI = Math.log(2 * Math.PI)

/** The law of each point in a cell: a mixture of Normals with means mean + slope . w. */
export class Local {
  /** Arrays over points: one mean a curve, one slope a curve and dimension, one variance and log share a branch. */
  constructor(mean, slope, variance, logShare) {
    Object.assign(this, {mean, slope, variance, logShare})
  }

  /** slope . w at some w. */
  fitted(state) {
    return this.slope.map((rows) => combined(rows, state))
  }

  /** The variance of slope . w. */
  leverage(spread) {
    return this.slope.map((rows) => bilinear(rows, spread, rows))
  }

  /** Log share plus log density of targets under each Normal, where slope . w has a mean and a variance. */
  logDensities(y, mean, variance) {
    return this.variance.map((noise, b) => {
      const own = ofBranch(this.mean, b), moved = ofBranch(mean, b), spread = ofBranch(variance, b)
      const found = this.logShare[b].slice()
      for (let i = 0; i < y.length; i++) {
        const total = spread[i] + noise[i]
        const residual = y[i] - own[i] - moved[i]
        found[i] -= 0.5 * (residual * residual / total + Math.log(total) + LOG_2PI)
      }
      return found
    })
  }

  /** The log density of targets. */
  logDensity(y, mean, variance) {
    return logTotals(this.logDensities(y, mean, variance))
  }

  /** Log density of targets where slope . w is Normal, its derivative in the mean, and minus the second one, a curve. */
  moments(y, [mean], [variance]) {
    const found = this.logDensities(y, [mean], [variance])
    return [Array.from(logTotals(found), (told, i) => {
      const parts = found.map((values, b) => {
        const total = variance[i] + this.variance[b][i]
        return {share: Math.exp(values[i] - told), pull: (y[i] - this.mean[0][i] - mean[i]) / total, total}
      })
      const moved = parts.reduce((sum, {share, pull}) => sum + share * pull, 0)
      const curved = parts.reduce((sum, {share, pull, total}) => sum + share * (1 / total - (pull - moved) ** 2), 0)
      return {told, moved, curved}
    })]
  }
}

/** The law of each point in a cell with second-order terms; local is linear over the whole cell. */
export class Curved {
  /** Bends have an array over points for each curve and pair of dimensions; rest is the variance of higher orders too. */
  constructor(local, bends, rest) {
    Object.assign(this, {local, bends, rest})
  }

  /** The law linear in w where w has a posterior: as a second-order extended Kalman filter has it. */
  around(state, spread) {
    const {mean, slope, logShare} = this.local
    const near = state.map((value) => clamp(value, -FARTHEST, FARTHEST))
    const curves = this.bends.map((bends, c) => linearised(mean[c], slope[c], bends, near, spread.data))
    const curvatures = curves.map(({curvature}) => curvature)
    const variance = this.rest.map((values, b) => plus(values, ofBranch(curvatures, b)))
    const {constructor: Own} = this.local
    return new Own(curves.map((each) => each.mean), curves.map((each) => each.slope), variance, logShare)
  }
}

/** Mean, slope and curvature of one curve around a state; spread has the numbers of a symmetric matrix. */
function linearised(mean, slope, bends, state, spread) {
  const size = state.length
  const [full, seen] = [new Float64Array(size * size), new Float64Array(size * size)] // bends at a point; spread times them
  const found = {mean: mean.slice(), slope: slope.map((row) => row.slice()), curvature: new Float64Array(mean.length)}
  for (let i = 0; i < mean.length; i++) {
    for (let k = 0, pair = 0; k < size; k++) {
      for (let l = 0; l <= k; l++, pair++) {
        full[k * size + l] = full[l * size + k] = bends[pair][i] * (k === l ? 2 : 1)
      }
    }
    for (let k = 0; k < size; k++) {
      let moved = 0
      for (let l = 0; l < size; l++) {
        const at = k * size + l
        moved += full[at] * state[l]
        seen[at] = 0
        for (let j = 0; j < size; j++) {
          seen[at] += spread[k * size + j] * full[j * size + l]
        }
      }
      found.slope[k][i] += moved
      found.mean[i] += 0.5 * (seen[k * size + k] - full[k * size + k] - moved * state[k])
    }
    for (let at = 0; at < seen.length; at++) {
      found.curvature[i] += 0.5 * seen[at] * seen[at % size * size + Math.floor(at / size)]
    }
  }
  return found
}

/** The curve of a branch: all branches have one, or each its own. */
export const ofBranch = (curves, b) => curves[curves.length === 1 ? 0 : b]

export function plus(a, b) {
  const sum = a.slice()
  for (let i = 0; i < sum.length; i++) {
    sum[i] += b[i]
  }
  return sum
}

/** The log of the sum of exponentials of all rows, at each point. */
export function logTotals(rows) {
  const top = rows[0].slice()
  if (rows.length === 1) {
    return top
  }
  for (const row of rows) {
    for (let i = 0; i < top.length; i++) {
      top[i] = Math.max(top[i], row[i])
    }
  }
  const sums = new Float64Array(top.length)
  for (const row of rows) {
    for (let i = 0; i < top.length; i++) {
      sums[i] += Math.exp(row[i] - top[i])
    }
  }
  for (let i = 0; i < top.length; i++) {
    top[i] += Math.log(sums[i])
  }
  return top
}

/** The sum of rows times weights. */
function combined(rows, weights) {
  const sums = new Float64Array(rows[0].length)
  for (let k = 0; k < rows.length; k++) {
    const row = rows[k], weight = weights[k]
    for (let i = 0; i < sums.length; i++) {
      sums[i] += weight * row[i]
    }
  }
  return sums
}

/** a_i^T M b_i at each point i. */
export function bilinear(a, matrix, b) {
  const sums = new Float64Array(a[0].length)
  a.forEach((row, k) => {
    const own = combined(b, matrix.row(k))
    for (let i = 0; i < sums.length; i++) {
      sums[i] += row[i] * own[i]
    }
  })
  return sums
}
