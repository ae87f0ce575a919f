// Mixtures of Normals, one for each query; a Normal is a mixture of one.

import {logSumExp, normalCdf, normalDensity, normalQuantile} from "../numbers/special.js"

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI)
const MOST_STEPS = 60
const FAR = 6 // deviations beyond which 1e-9 of the mass is nothing in a picture

export class NormalMixture {
  /** Log weights that need not sum to 1, means and deviations: arrays of count * components numbers, query by query. */
  constructor(components, logits, loc, scale) {
    this.components = components
    this.count = loc.length / components
    this.loc = loc
    this.scale = scale
    this.logProbs = new Float64Array(logits.length)
    for (let i = 0; i < this.count; i++) {
      const [start, end] = [i * components, (i + 1) * components]
      const total = logSumExp(logits.subarray(start, end))
      for (let j = start; j < end; j++) {
        this.logProbs[j] = logits[j] - total
      }
    }
    this.probs = this.logProbs.map(Math.exp)
  }

  static normal(loc, scale) {
    return new NormalMixture(1, new Float64Array(loc.length), loc, scale)
  }

  logProb(i, y) {
    const start = i * this.components
    const parts = new Float64Array(this.components)
    for (let k = 0, j = start; k < this.components; k++, j++) {
      const z = (y - this.loc[j]) / this.scale[j]
      parts[k] = this.logProbs[j] - 0.5 * z * z - Math.log(this.scale[j]) - HALF_LOG_2PI
    }
    return logSumExp(parts)
  }

  cdf(i, y) {
    let sum = 0
    for (let j = i * this.components, end = j + this.components; j < end; j++) {
      sum += this.probs[j] * normalCdf((y - this.loc[j]) / this.scale[j])
    }
    return sum
  }

  /** The cdf at low, low + width, ...: many at once, since a picture of the density needs them. */
  cdfs(i, low, width, count) {
    const sums = new Float64Array(count)
    for (let j = i * this.components, end = j + this.components; j < end; j++) {
      const prob = this.probs[j]
      const step = width / this.scale[j]
      let z = (low - this.loc[j]) / this.scale[j]
      for (let k = 0; k < count; k++, z += step) {
        if (z > FAR) {
          sums[k] += prob
        } else if (z > -FAR) {
          sums[k] += prob * normalCdf(z)
        }
      }
    }
    return sums
  }

  density(i, y) {
    let sum = 0
    for (let j = i * this.components, end = j + this.components; j < end; j++) {
      sum += this.probs[j] * normalDensity((y - this.loc[j]) / this.scale[j]) / this.scale[j]
    }
    return sum
  }

  /** Newton's method within a shrinking bracket, which begins with the outermost quantiles of the components. */
  icdf(i, level) {
    const z = normalQuantile(level)
    let [low, high] = [Infinity, -Infinity]
    for (let j = i * this.components, end = j + this.components; j < end; j++) {
      const point = this.loc[j] + this.scale[j] * z
      low = Math.min(low, point)
      high = Math.max(high, point)
    }
    let point = this.mean(i) + z * this.stddev(i)
    for (let step = 0; step < MOST_STEPS && high - low > 1e-12 * (1 + Math.abs(low)); step++) {
      if (!(point > low && point < high)) {
        point = (low + high) / 2
      }
      const excess = this.cdf(i, point) - level
      if (excess > 0) {
        high = point
      } else {
        low = point
      }
      const move = excess / this.density(i, point)
      if (Math.abs(move) < 1e-10 * (high - low + 1e-300) || Math.abs(excess) < 1e-12) {
        return point
      }
      point -= move
    }
    return point > low && point < high ? point : (low + high) / 2
  }

  mean(i) {
    let sum = 0
    for (let j = i * this.components, end = j + this.components; j < end; j++) {
      sum += this.probs[j] * this.loc[j]
    }
    return sum
  }

  stddev(i) {
    const mean = this.mean(i)
    let sum = 0
    for (let j = i * this.components, end = j + this.components; j < end; j++) {
      sum += this.probs[j] * (this.scale[j] ** 2 + (this.loc[j] - mean) ** 2)
    }
    return Math.sqrt(sum)
  }

  /** The distribution of scale[i] * y + shift[i]; scales are positive. */
  affine(scale, shift) {
    const each = (i) => Math.floor(i / this.components)
    return new NormalMixture(
      this.components,
      this.logProbs,
      this.loc.map((loc, i) => scale[each(i)] * loc + shift[each(i)]),
      this.scale.map((spread, i) => scale[each(i)] * spread),
    )
  }
}
