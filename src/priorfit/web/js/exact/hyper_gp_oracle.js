// The posterior predictive of a Gaussian process with unknown hyper-parameters, by importance sampling, as in
// hyper_gp_oracle.py. It takes up to seconds, so it is a generator that yields between pieces of work.

import {cholesky, Matrix} from "../numbers/matrix.js"
import {gamma, normal, uniforms} from "../numbers/random.js"
import {logAddExp, logGamma, logSoftmax, trigamma} from "../numbers/special.js"
import {exactGP} from "./gaussian_process.js"
import {mixtureOf} from "./mixture.js"

const [FITTED_SHARE, NOISY_SHARE, FREEDOM] = [0.5, 0.25, 5]
const PRUNED_WEIGHT = 1e-5 // posterior probability that may be dropped: no quantile that is drawn sees it
const SMALLEST = 1e-300
const PIECE = 40 // draws between two yields

const logGammaDensity = ({concentration: a, rate}, value) =>
  a * Math.log(rate) - logGamma(a) + (a - 1) * Math.log(value) - rate * value

export class HyperGPOracle {
  constructor(description, numSamples = 2000) {
    this.prior = {kernel: "matern52", noise_floor: 1e-6, ...description}
    const {lengthscale_prior: lengthscale, outputscale_prior: outputscale, noise_prior: noise} = this.prior
    const uniform = uniforms(1)
    const drawn = (law) => Math.max(gamma(uniform, law.concentration) / law.rate, SMALLEST)
    const count = Math.round(numSamples * (1 - FITTED_SHARE))
    this.first = Array.from({length: count}, () => [Math.log(drawn(lengthscale)), Math.log(drawn(outputscale))])
    this.student = Array.from({length: numSamples - count}, () => {
      const wide = Math.sqrt(2 * gamma(uniform, FREEDOM / 2) / FREEDOM)
      return [normal(uniform) / wide, normal(uniform) / wide]
    })
    const high = (noise.concentration + 10 * Math.sqrt(noise.concentration) + 10) / noise.rate
    const low = Math.min(this.prior.noise_floor, high) / 100
    const span = Math.log(high / low)
    this.noise = Array.from({length: numSamples}, () =>
      uniform() < NOISY_SHARE ? low * Math.exp(span * uniform()) : drawn(noise))
    this.logRatio = this.noise.map((value) => {
      const logUniform = value >= low && value <= high ? -Math.log(value) - Math.log(span) : -Infinity
      return -logAddExp(Math.log(1 - NOISY_SHARE), Math.log(NOISY_SHARE) + logUniform - logGammaDensity(noise, value))
    })
  }

  /** Yields between pieces of work and returns the posterior of a context. */
  * condition(x, y) {
    const evidence = function* (scales, start) {
      const found = []
      for (const [k, each] of scales.entries()) {
        found.push(this._gp(each, this.noise[start + k]).logEvidence(x, y) + this.logRatio[start + k])
        if (k % PIECE === 0) {
          yield
        }
      }
      return found
    }.bind(this)
    const first = yield* evidence(this.first, 0)
    const {mean, factor} = this._fit(logSoftmax(first).map(Math.exp))
    const fitted = this.student.map(([a, b]) => [mean[0] + factor[0] * a, mean[1] + factor[1] * a + factor[2] * b])
    const second = yield* evidence(fitted, first.length)
    const scales = [...this.first, ...fitted]
    const share = fitted.length / scales.length
    const logWeights = logSoftmax([...first, ...second].map((value, k) => {
      const excess = Math.log(share) + logStudent(scales[k], mean, factor) - this._logPrior(scales[k])
      return value - logAddExp(Math.log(1 - share), excess)
    }))
    return yield* this._kept(x, y, scales, logWeights)
  }

  * _kept(x, y, scales, logWeights) {
    const order = [...logWeights.keys()].sort((a, b) => logWeights[b] - logWeights[a])
    const kept = []
    for (let sum = 0, k = 0; k < order.length && sum < 1 - PRUNED_WEIGHT; k++) {
      sum += Math.exp(logWeights[order[k]])
      kept.push({logWeight: logWeights[order[k]], posterior: this._gp(scales[order[k]], this.noise[order[k]]).condition(x, y)})
      if (k % PIECE === 0) {
        yield
      }
    }
    const weights = kept.map(({logWeight}) => logWeight)
    return {predict: (queries) => mixtureOf(kept.map(({posterior}) => posterior.predict(queries)), weights)}
  }

  _gp([logLengthscale, logOutputscale], noise) {
    return exactGP({
      kernel: this.prior.kernel, lengthscale: Math.exp(logLengthscale), outputscale: Math.exp(logOutputscale),
      noise: this.prior.noise_floor + noise, jitter: 0,
    })
  }

  /** Mean and Cholesky factor of a Student distribution that covers the weighted draws. */
  _fit(weights) {
    const mean = [0, 1].map((f) => this.first.reduce((sum, each, k) => sum + weights[k] * each[f], 0))
    const laws = [this.prior.lengthscale_prior, this.prior.outputscale_prior]
    const covariance = new Matrix(2, 2)
    for (const [i, j] of [[0, 0], [1, 0], [1, 1]]) {
      const moment = this.first.reduce((sum, each, k) => sum + weights[k] * (each[i] - mean[i]) * (each[j] - mean[j]), 0)
      covariance.row(i)[j] = 1.5 * moment + (i === j ? 0.01 * trigamma(laws[i].concentration) : 0)
    }
    const {data} = cholesky(covariance)
    return {mean, factor: [data[0], data[2], data[3]]}
  }

  /** The log density of log (lengthscale, outputscale). */
  _logPrior(scales) {
    return scales.reduce((sum, log, f) => {
      const law = f ? this.prior.outputscale_prior : this.prior.lengthscale_prior
      return sum + logGammaDensity(law, Math.exp(log)) + log
    }, 0)
  }
}

/** The log density of the Student distribution in two dimensions. */
function logStudent(value, mean, [a, b, c]) {
  const first = (value[0] - mean[0]) / a
  const second = (value[1] - mean[1] - b * first) / c
  const tails = -(FREEDOM + 2) / 2 * Math.log1p((first * first + second * second) / FREEDOM)
  return tails - Math.log(a * c) - Math.log(2 * Math.PI)
}
