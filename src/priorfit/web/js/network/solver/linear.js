// Bayesian linear regression of real targets on learned features of x, solved exactly.

import {logSoftmax} from "../../numbers/special.js"
import {FeaturesSolved, LearnedFeatures, PACE} from "./features.js"
import {solve} from "./gaussian.js"
import {ProbitRegression} from "./labels.js"
import {Mixed} from "./mixtures.js"
import {FirstGuess} from "./solver.js"

const DEFAULTS = {features: 128, components: 4, hidden: 256}

export function buildLinearSolver(weights, settings, problem, encoder) {
  const Regression = problem.outcome.type === "Classes" ? ProbitRegression : RealRegression
  return new Regression(weights, {...DEFAULTS, ...settings}, problem, encoder)
}

/** y = noise (w . phi(x) + e) with w ~ N(0, I), e ~ N(0, 1). */
class RealRegression {
  constructor(weights, settings, problem, encoder) {
    this.features = new LearnedFeatures(weights.under("features"), settings, problem, encoder)
    this.logNoise = weights.vector("slow_log_noise", settings.components).map((value) => PACE * value)
    this.numNumbers = 3 * settings.components + 2
  }

  condition(x, y) {
    const solved = this.phi(x).map((phi, k) => solve(phi, y.map((value) => value * Math.exp(-this.logNoise[k]))))
    const evidence = solved.map(({solution}, k) => solution.logEvidence - y.length * this.logNoise[k])
    return new FeaturesSolved(this, solved, Float64Array.from(evidence))
  }

  phi(x) {
    return this.features.phi(x)
  }

  guess(moments, evidence, count) {
    const means = moments.map(({mean}, k) => mean.map((value) => value * Math.exp(this.logNoise[k])))
    const logScales = moments.map(({variance}, k) => variance.map((value) => 0.5 * Math.log1p(value) + this.logNoise[k]))
    const whole = new Mixed(means, logScales, logSoftmax(evidence), count)
    return new FirstGuess(whole.normal(), whole.features())
  }
}
