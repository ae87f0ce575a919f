// Families of regressions: from latents to the gains of a basis and the noise.

import {linear} from "../../numbers/matrix.js"
import {logAddExp, logSumExp, softplus} from "../../numbers/special.js"

const [LARGEST_RATIO, MOST_NOISE] = [12, 6]
const HIDDEN = 32
const PACE = 2

export class Family {
  constructor(weights, lengths, latents) {
    this.logLengths = lengths.map((length) => Math.fround(Math.log(Math.max(length, Math.fround(1e-6)))))
    this.slope = weights.matrix("slope", latents, 3)
    this.curvature = weights.matrix("curvature", latents, 3)
    this.start = weights.vector("start", 3)
    this.power = Math.exp(weights.scalar("log_power"))
    this.hidden = weights.linear("hidden", latents, HIDDEN)
    this.output = weights.linear("output", HIDDEN, lengths.length + 4)
    this.logPrior = weights.linear("log_prior", HIDDEN, 1)
  }

  /** For each row of latents the log gains and the log noise. */
  forward(latents) {
    const learned = linear(linear(latents, this.hidden).map(Math.tanh), this.output)
    return Array.from({length: latents.rows}, (_, i) => this._one(latents.row(i), learned.row(i)))
  }

  _one(latents, row) {
    const count = this.logLengths.length
    const value = (part) => {
      let sum = this.start[part]
      latents.forEach((z, f) => { sum += z * this.slope.row(f)[part] + z * z * this.curvature.row(f)[part] })
      return PACE * row[count + part] + PACE * sum
    }
    const [logScale, logLengthscale, logAdded] = [value(0), value(1), value(2)]
    const shape = this.logLengths.map(
      (length, k) => PACE * row[k] - 0.5 * this.power * softplus(2 * (length + logLengthscale)))
    const norm = 0.5 * logSumExp(shape.map((each) => 2 * each)) // the squares sum to the scale's
    const added = logAddExp(2 * Math.min(logAdded, MOST_NOISE), 2 * (logScale - LARGEST_RATIO))
    return {
      logGain: shape.map((each) => logScale + each - norm),
      logNoise: 0.5 * logAddExp(2 * PACE * row[count + 3], added),
    }
  }

  /** The log prior density of latents, up to a constant: a standard Normal times a learned factor. */
  logDensity(latents) {
    const learned = linear(linear(latents, this.hidden).map(Math.tanh), this.logPrior)
    return Float64Array.from({length: latents.rows}, (_, i) =>
      PACE * learned.data[i] - 0.5 * latents.row(i).reduce((sum, z) => sum + z * z, 0))
  }
}

/** Nearly the same near 0, and never beyond the bound. */
export const bounded = (value, bound) => bound * Math.tanh(value / bound)
