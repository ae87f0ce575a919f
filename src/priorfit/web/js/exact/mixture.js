// The exact posterior predictive of a mixture of priors that have one.

import {NormalMixture} from "../distributions/normal_mixture.js"
import {logSoftmax} from "../numbers/special.js"

export class ExactMixture {
  constructor(parts, weights) {
    Object.assign(this, {parts, weights: weights ?? parts.map(() => 1)})
  }

  /** The weight of each component is multiplied by its marginal likelihood. */
  condition(x, y) {
    const posteriors = this.parts.map((part) => part.condition(x, y))
    const logWeights = logSoftmax(this.parts.map((part, k) => Math.log(this.weights[k]) + part.logEvidence(x, y)))
    return {predict: (queries) => mixtureOf(posteriors.map((each) => each.predict(queries)), logWeights)}
  }
}

/** A mixture with these weights of as many predictions, each of one Normal a query. */
export function mixtureOf(parts, logWeights) {
  const [count, components] = [parts[0].count, parts.length]
  const [logits, loc, scale] = [0, 1, 2].map(() => new Float64Array(count * components))
  parts.forEach((part, k) => {
    for (let i = 0; i < count; i++) {
      logits[i * components + k] = logWeights[k]
      loc[i * components + k] = part.loc[i]
      scale[i * components + k] = part.scale[i]
    }
  })
  return new NormalMixture(components, logits, loc, scale)
}
