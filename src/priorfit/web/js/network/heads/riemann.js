// Bars: the paper's Riemann distribution, plain or with a smooth shape below.

import {Riemann} from "../../distributions/riemann.js"
import {clamp} from "../../numbers/special.js"
import {inUnitsOf, LOG_SCALE_RANGE} from "./head.js"

export class RiemannHead {
  constructor(weights, {num_buckets: buckets = 500, shape = "smooth", tails = "half-normal"}) {
    this.buckets = buckets
    this.isSmooth = shape === "smooth"
    this.hasTails = tails === "half-normal"
    this.numParameters = this.isSmooth ? buckets + 2 : buckets
    this.borders = (this.isSmooth ? weights.under("bars") : weights).vector("borders", buckets + 1)
  }

  forward(parameters, guess) {
    const logits = this.isSmooth ? this._smooth(parameters) : parameters.data
    return inUnitsOf(new Riemann(this.borders, logits, this.hasTails), guess)
  }

  /** Free logits of the bars plus -(centre - mu)^2 / (2 sigma^2) + log width, with predicted mu and sigma. */
  _smooth(parameters) {
    const logits = new Float64Array(parameters.rows * this.buckets)
    for (let i = 0; i < parameters.rows; i++) {
      const row = parameters.row(i)
      const [location, narrow] = [row[this.buckets], Math.exp(-clamp(row[this.buckets + 1], ...LOG_SCALE_RANGE))]
      for (let k = 0; k < this.buckets; k++) {
        const [low, high] = [this.borders[k], this.borders[k + 1]]
        const standard = ((low + high) / 2 - location) * narrow
        logits[i * this.buckets + k] = row[k] + Math.max(-0.5 * standard * standard, -60) + Math.log(high - low)
      }
    }
    return logits
  }
}
