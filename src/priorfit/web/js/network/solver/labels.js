// Probit regression of two classes on learned features, by expectation propagation.

import {Categorical} from "../../distributions/categorical.js"
import {Matrix} from "../../numbers/matrix.js"
import {logSoftmax} from "../../numbers/special.js"
import {FeaturesSolved, LearnedFeatures} from "./features.js"
import {LEAST_LOG_WEIGHT, TOKEN_SCALE} from "./mixtures.js"
import {bounded, classify, probability} from "./probit.js"
import {FirstGuess} from "./solver.js"

const LARGEST_TOLD = 5

const squashed = (value) => LARGEST_TOLD * Math.tanh(value / LARGEST_TOLD)

/** y = [w . phi(x) + e > 0] with w ~ N(0, I), e ~ N(0, 1). */
export class ProbitRegression {
  constructor(weights, settings, problem, encoder) {
    this.features = new LearnedFeatures(weights.under("features"), settings, problem, encoder)
    this.numNumbers = 3 * settings.components + 1
  }

  condition(x, y) {
    const signs = y.map((label) => 2 * label - 1)
    const solved = this.phi(x).map((phi) => classify(phi, signs))
    return new FeaturesSolved(this, solved, Float64Array.from(solved, ({solution}) => solution.logEvidence))
  }

  phi(x) {
    return this.features.phi(x)
  }

  guess(moments, evidence, count) {
    const components = moments.length
    const logWeights = logSoftmax(evidence)
    const features = new Matrix(count, this.numNumbers)
    const logits = new Float64Array(2 * count)
    for (let i = 0; i < count; i++) {
      const row = features.row(i)
      let [zero, one] = [0, 0]
      moments.forEach(({mean, variance}, k) => {
        const margin = mean[i] / Math.sqrt(1 + variance[i])
        zero += Math.exp(logWeights[k]) * probability(-bounded(margin))
        one += Math.exp(logWeights[k]) * probability(bounded(margin))
        row[k] = squashed(margin)
        row[components + k] = Math.log1p(variance[i]) / 2
        row[2 * components + k] = Math.max(logWeights[k], LEAST_LOG_WEIGHT) / TOKEN_SCALE
      })
      logits[2 * i] = Math.log(zero)
      logits[2 * i + 1] = Math.log(one)
      row[3 * components] = squashed(Math.log(one) - Math.log(zero))
    }
    return new FirstGuess(new Categorical(2, logits), features)
  }
}
