// Mixtures of Normals, one component for each regression: their moments, and the numbers that tokens are told.

import {NormalMixture} from "../../distributions/normal_mixture.js"
import {Matrix} from "../../numbers/matrix.js"

export const LEAST_LOG_WEIGHT = -20
export const TOKEN_SCALE = 4

/** The mixture of Normals with these means and log scales (by component, then point) and log weights. */
export class Mixed {
  constructor(means, logScales, logWeights, count) {
    const weights = logWeights.map(Math.exp)
    Object.assign(this, {means, logScales, count})
    this.location = new Float64Array(count)
    this.logScale = new Float64Array(count)
    for (let i = 0; i < count; i++) {
      let [mean, spread] = [0, 0]
      weights.forEach((weight, k) => { mean += weight * means[k][i] })
      weights.forEach((weight, k) => {
        spread += weight * (Math.exp(2 * logScales[k][i]) + (means[k][i] - mean) ** 2)
      })
      this.location[i] = mean
      this.logScale[i] = 0.5 * Math.log(spread)
    }
    this.logWeights = logWeights.map((value) => Math.max(value, LEAST_LOG_WEIGHT))
  }

  /** Mean, log scale and log weight of each component in units of the mixture; its location and log scale. */
  features() {
    const components = this.means.length
    const features = new Matrix(this.count, 3 * components + 2)
    for (let i = 0; i < this.count; i++) {
      const row = features.row(i)
      const [location, logScale] = [this.location[i], this.logScale[i]]
      for (let k = 0; k < components; k++) {
        row[k] = (this.means[k][i] - location) * Math.exp(-logScale)
        row[components + k] = this.logScales[k][i] - logScale
        row[2 * components + k] = this.logWeights[k] / TOKEN_SCALE
      }
      row[3 * components] = location
      row[3 * components + 1] = logScale
    }
    return features
  }

  /** The Normal with the moments of the mixture. */
  normal() {
    return NormalMixture.normal(this.location, this.logScale.map(Math.exp))
  }

  /** The mixture itself. */
  distribution() {
    const components = this.means.length
    const [logits, loc, scale] = [0, 1, 2].map(() => new Float64Array(this.count * components))
    for (let at = 0; at < logits.length; at++) {
      const [i, k] = [Math.floor(at / components), at % components]
      logits[at] = this.logWeights[k]
      loc[at] = this.means[k][i]
      scale[at] = Math.exp(this.logScales[k][i])
    }
    return new NormalMixture(components, logits, loc, scale)
  }
}
