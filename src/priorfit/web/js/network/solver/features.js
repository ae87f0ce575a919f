// Learned features of x, and what solvers that regress on them keep of a context.

import {linear, Matrix} from "../../numbers/matrix.js"
import {gelu} from "../../numbers/special.js"
import {ENCODERS} from "../encoders/inputs.js"
import {kept} from "../encoders/units.js"

export const PACE = 10

/** From x to features for each of several components, each in units of its component's noise. */
export class LearnedFeatures {
  constructor(weights, {features, components, hidden}, problem, encoder) {
    const width = hidden || components * features
    this.encoder = new ENCODERS[encoder.type](
      weights.under("encoder"), encoder, problem.num_features, width, problem.input_range)
    const gain = weights.vector("slow_log_gain", components, 1, features).map((value) => Math.exp(PACE * value))
    const output = hidden ? weights.linear("output", hidden, components * features) : null
    if (output) {
      gain.forEach((factor, k) => {
        const row = output.weight.row(k)
        row.forEach((value, j) => { row[j] = factor * value })
        output.bias[k] *= factor
      })
    }
    /** One matrix of (points, features) for each component. */
    this.phi = kept((x) => {
      const encoded = this.encoder.forward(x)
      const whole = output ? linear(encoded.map(gelu), output) : scaled(encoded, gain)
      return Array.from({length: components}, (_, k) => whole.slice(k * features, (k + 1) * features))
    })
  }
}

function scaled(matrix, gain) {
  const result = new Matrix(matrix.rows, matrix.columns)
  result.data.forEach((_, i) => { result.data[i] = matrix.data[i] * gain[i % matrix.columns] })
  return result
}

/** The posteriors of the weights of each regression, and the log evidence of each component of the mixture. */
export class FeaturesSolved {
  constructor(solver, solved, evidence) {
    Object.assign(this, {solver, solved, evidence})
  }

  predict(x) {
    const phi = this.solver.phi(x)
    return this.solver.guess(this.solved.map(({solution}, k) => solution.moments(phi[k])), this.evidence, x.rows)
  }

  /** Exact for real targets, the cavities of expectation propagation for labels. */
  leaveOneOut(count) {
    return this.solver.guess(this.solved.map(({leftOut}) => leftOut), this.evidence, count)
  }
}
