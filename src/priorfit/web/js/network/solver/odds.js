// Laws of classes that are linear in a cell: log odds of each class against all later ones.

import {logNormalCdf, logSumExp} from "../../numbers/special.js"
import {Local} from "./local.js"

// The logistic function as a mixture of probits.
const LOG_SHARES = [0.0014650018, 0.0277071384, 0.1388831583, 0.3274969123, 0.3797565737, 0.1246912155].map(Math.log)
const SLOPES = [0.2385281318, 0.3086886226, 0.397706643, 0.5214133646, 0.7049301760, 0.9928304415]
const LOG_ROOT = 0.5 * Math.log(2 * Math.PI)
const NOTHING = {told: 0, moved: 0, curved: 0}

/** The law of each point in a cell: mean + slope . w are log odds; variance is that of what is not linear in them. */
export class Odds extends Local {
  /** Log probabilities of all classes where slope . w has a mean and a variance; odds are as if independent. */
  logProbs(mean, variance) {
    const later = new Float64Array(mean[0].length) // log probability of all classes that are left
    const found = mean.map((own, c) => own.map((value, i) => {
      const [middle, spread] = [this.mean[c][i] + value, variance[c][i] + this.variance[c][i]]
      const told = later[i] + logLogistic(middle, spread).told
      later[i] += logLogistic(-middle, spread).told
      return told
    }))
    return [...found, later]
  }

  logDensity(y, mean, variance) {
    const found = this.logProbs(mean, variance)
    return Float64Array.from(y, (label, i) => found[label][i])
  }

  moments(y, mean, variance) {
    return mean.map((own, c) => Array.from(own, (value, i) => {
      if (y[i] < c) {
        return NOTHING
      }
      const sign = y[i] === c ? 1 : -1
      const found = logLogistic(sign * (this.mean[c][i] + value), variance[c][i] + this.variance[c][i])
      return {...found, moved: sign * found.moved}
    }))
  }
}

/** The logarithm of the mean of a logistic function of a Normal, its derivative, and minus the second one. */
function logLogistic(mean, variance) {
  const parts = SLOPES.map((slope, k) => {
    const narrow = slope / Math.sqrt(1 + slope * slope * variance)
    const margin = narrow * mean
    const below = logNormalCdf(margin)
    return {narrow, margin, each: LOG_SHARES[k] + below, ratio: narrow * Math.exp(-0.5 * margin * margin - LOG_ROOT - below)}
  })
  const told = logSumExp(parts.map(({each}) => each))
  let [moved, bent] = [0, 0]
  for (const {narrow, margin, each, ratio} of parts) {
    const share = Math.exp(each - told)
    moved += share * ratio
    bent += share * ratio * narrow * margin
  }
  return {told, moved, curved: moved * moved + bent}
}
