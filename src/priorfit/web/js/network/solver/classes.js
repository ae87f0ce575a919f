// Any number of classes on learned features: one probit regression a class against all others, normalised.

import {Categorical} from "../../distributions/categorical.js"
import {Matrix} from "../../numbers/matrix.js"
import {logSoftmax, logSumExp} from "../../numbers/special.js"
import {FeaturesSolved, LearnedFeatures} from "./features.js"
import {LEAST_LOG_WEIGHT, TOKEN_SCALE} from "./mixtures.js"
import {bounded, classify, probability} from "./probit.js"
import {FirstGuess} from "./solver.js"

const DEFAULTS = {features: 16, components: 2, hidden: 64}

export function buildClassSolver(weights, settings, problem, encoder) {
  return new OneAgainstRest(weights, {...DEFAULTS, ...settings}, problem, encoder)
}

class OneAgainstRest {
  constructor(weights, settings, problem, encoder) {
    this.features = new LearnedFeatures(weights.under("features"), settings, problem, encoder)
    this.sharpness = Math.exp(weights.scalar("log_sharpness"))
    this.classes = problem.outcome.count
    this.components = settings.components
    this.numNumbers = 2 * settings.components + 2
  }

  /** A component's evidence is the sum of that of its classes' own regressions. */
  condition(x, y) {
    const signs = Array.from({length: this.classes}, (_, label) => y.map((own) => own === label ? 1 : -1))
    const solved = this.phi(x).map((phi, k) => classify(phi, signs[k % this.classes]))
    const evidence = new Float64Array(this.components)
    solved.forEach(({solution}, k) => { evidence[Math.floor(k / this.classes)] += solution.logEvidence })
    return new FeaturesSolved(this, solved, evidence)
  }

  /** Those of each component, once for each class. */
  phi(x) {
    return this.features.phi(x).flatMap((phi) => Array(this.classes).fill(phi))
  }

  guess(moments, evidence, count) {
    const [classes, components] = [this.classes, this.components]
    const logWeights = logSoftmax(evidence)
    const features = new Matrix(count, this.numNumbers)
    const logits = new Float64Array(count * classes)
    for (let i = 0; i < count; i++) {
      const each = Array.from({length: components}, (_, k) => this._logProbs(moments, k, i))
      const own = logits.subarray(i * classes, (i + 1) * classes)
      own.forEach((_, label) => {
        own[label] = logSumExp(each.map((logProbs, k) => logProbs[label] + logWeights[k]))
      })
      const row = features.row(i)
      for (let k = 0; k < components; k++) {
        const unsure = moments.slice(k * classes, (k + 1) * classes).map(({variance}) => Math.log1p(variance[i]))
        row[k] = unsure.reduce((sum, value) => sum + value, 0) / classes / 2
        row[components + k] = Math.max(logWeights[k], LEAST_LOG_WEIGHT) / TOKEN_SCALE
      }
    }
    const ppd = new Categorical(classes, logits)
    for (let i = 0; i < count; i++) {
      const top = Math.max(...logits.subarray(i * classes, (i + 1) * classes))
      features.row(i)[2 * components] = Math.max(top, LEAST_LOG_WEIGHT)
      features.row(i)[2 * components + 1] = ppd.entropy(i)
    }
    return new FirstGuess(ppd, features)
  }

  _logProbs(moments, k, i) {
    const scores = moments.slice(k * this.classes, (k + 1) * this.classes).map(({mean, variance}) => {
      const margin = bounded(mean[i] / Math.sqrt(1 + variance[i]))
      return this.sharpness * (Math.log(probability(margin)) - Math.log(probability(-margin)))
    })
    return logSoftmax(scores)
  }
}
