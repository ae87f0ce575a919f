// A family of linear regressions whose prior has latents, such as lengthscale and variance, fitted to each dataset.

import {linear, Matrix, timesTransposed} from "../../numbers/matrix.js"
import {gelu, logSoftmax, softmax, softplus} from "../../numbers/special.js"
import {HarmonicLayer} from "./bases.js"
import {bounded, Family} from "./families.js"
import {logEvidence, solve} from "./gaussian.js"
import {Mixed} from "./mixtures.js"
import {FirstGuess} from "./solver.js"

const CHOOSER = 64
const TEMPERATURES = [1, 0.3, 0.1, 0.03]
const FIRST_TEMPERATURE = 0.3
const [FARTHEST, LARGEST_SHIFT] = [6, 4]
const DEFAULTS = {latents: 2, anchors: 12, nodes: 7}

export function buildLatentSolver(weights, settings, problem) {
  return new LatentRegression(weights, {...DEFAULTS, ...settings}, problem)
}

class LatentRegression {
  constructor(weights, {latents, anchors, nodes, basis}, problem) {
    this.latents = latents
    this.nodes = nodes
    this.numNumbers = 3 * nodes + 2
    this.basis = new HarmonicLayer(basis, problem.num_features, problem.input_range)
    this.family = new Family(weights.under("family"), this.basis.lengths, latents)
    this.anchors = weights.matrix("anchors", anchors, latents)
    const numInputs = TEMPERATURES.length * (anchors + 2 * latents) + anchors + latents + 3
    const chooser = weights.under("chooser")
    this.chooser = [
      chooser.linear("0", numInputs, CHOOSER), chooser.linear("2", CHOOSER, 2 * latents + latents * (latents - 1) / 2)]
    this.offsets = weights.matrix("offsets", nodes, latents)
    this.logShares = weights.vector("log_shares", nodes)
    this.atAnchors = this.family.forward(this.anchors)
  }

  condition(x, y) {
    const functions = this.basis.forward(x)
    const first = Float64Array.from(this.atAnchors, (member) =>
      logEvidence(phiOf(functions, member), inUnits(y, member)) - y.length * member.logNoise)
    const latents = this._chosen(first, y)
    const members = this.family.forward(latents)
    const solved = members.map((member) => solve(phiOf(functions, member), inUnits(y, member)))
    const prior = this.family.logDensity(latents)
    const logWeights = logSoftmax(solved.map(({solution}, k) => {
      const own = this.offsets.row(k).reduce((sum, part) => sum + part * part, 0)
      const chosen = -0.5 * own - this.logShares[k]
      return solution.logEvidence - y.length * members[k].logNoise + prior[k] - chosen
    }))
    return new LatentSolved(this, members, solved, logWeights)
  }

  /** The nodes of a dataset. */
  _chosen(evidence, y) {
    const {numbers, middle} = this._summary(evidence, y)
    const [first, second] = this.chooser
    const choice = linear(linear(new Matrix(1, numbers.length, Float64Array.from(numbers)), first).map(gelu), second).data
    const count = this.latents
    const factor = new Matrix(count, count)
    for (let i = 0, slant = 2 * count; i < count; i++) {
      const width = Math.exp(-softplus(choice[count + i] + 0.5 * Math.log1p(y.length / 3))) // as that of a posterior
      factor.row(i)[i] = width
      for (let j = 0; j < i; j++, slant++) {
        factor.row(i)[j] = Math.tanh(choice[slant]) * width
      }
    }
    const latents = timesTransposed(this.offsets, factor)
    const start = middle.map((value, i) => bounded(value + bounded(choice[i], LARGEST_SHIFT), FARTHEST))
    latents.data.forEach((_, at) => { latents.data[at] += start[at % count] })
    return latents
  }

  /** What the nodes are chosen by, and the weighted mean of the anchors that the choice starts from. */
  _summary(evidence, y) {
    const numbers = []
    let middle = null
    for (const temperature of TEMPERATURES) {
      const shares = softmax(evidence.map((value) => temperature * value))
      const mean = this._weighted(shares, (value) => value)
      const squares = this._weighted(shares, (value) => value * value)
      numbers.push(...shares, ...mean, ...mean.map((each, f) => Math.sqrt(Math.max(squares[f] - each * each, 1e-6))))
      middle = temperature === FIRST_TEMPERATURE ? mean : middle
    }
    const best = Math.max(...evidence)
    const count = Math.max(y.length, 1)
    const squares = y.reduce((sum, value) => sum + value * value, 0)
    numbers.push(...evidence.map((value) => Math.log1p(best - value) / 4), ...this.anchors.row(evidence.indexOf(best)))
    numbers.push(Math.asinh(best / count) / 4, Math.log(squares / count + 1e-4) / 4, Math.log1p(y.length) / 4)
    return {numbers, middle}
  }

  _weighted(shares, value) {
    return Array.from({length: this.latents}, (_, f) =>
      shares.reduce((sum, share, k) => sum + share * value(this.anchors.row(k)[f]), 0))
  }
}

/** What is regressed on, in units of the noise. */
function phiOf(functions, {logGain, logNoise}) {
  const gain = logGain.map((value) => Math.exp(value - logNoise))
  const phi = new Matrix(functions.rows, functions.columns)
  for (let i = 0, at = 0; i < phi.rows; i++) {
    for (let k = 0; k < phi.columns; k++, at++) {
      phi.data[at] = functions.data[at] * gain[k]
    }
  }
  return phi
}

const inUnits = (y, {logNoise}) => y.map((value) => value * Math.exp(-logNoise))

/** The regressions at the nodes of a context. */
class LatentSolved {
  constructor(solver, members, solved, logWeights) {
    Object.assign(this, {solver, members, solved, logWeights})
  }

  predict(x) {
    const functions = this.solver.basis.forward(x)
    const moments = this.solved.map(({solution}, k) => solution.moments(phiOf(functions, this.members[k])))
    return this._guess(moments, x.rows)
  }

  /** The nodes and their weights are those of the whole context. */
  leaveOneOut(count) {
    return this._guess(this.solved.map(({leftOut}) => leftOut), count)
  }

  _guess(moments, count) {
    const noise = this.members.map(({logNoise}) => logNoise)
    const means = moments.map(({mean}, k) => mean.map((value) => value * Math.exp(noise[k])))
    const logScales = moments.map(({variance}, k) => variance.map((value) => 0.5 * Math.log1p(value) + noise[k]))
    const whole = new Mixed(means, logScales, this.logWeights, count)
    return new FirstGuess(whole.distribution(), whole.features())
  }
}
