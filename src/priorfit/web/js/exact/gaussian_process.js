// The exact posterior predictive of a Gaussian process with fixed hyper-parameters.

import {NormalMixture} from "../distributions/normal_mixture.js"
import {cholesky, logDeterminant, Matrix, solvedLower} from "../numbers/matrix.js"

const [ROOT_3, ROOT_5] = [Math.sqrt(3), Math.sqrt(5)]

/** Stationary kernels as functions of the scaled distance, each 1 at 0. */
export const KERNELS = {
  rbf: (r) => Math.exp(-0.5 * r * r),
  matern12: (r) => Math.exp(-r),
  matern32: (r) => (1 + ROOT_3 * r) * Math.exp(-ROOT_3 * r),
  matern52: (r) => (1 + ROOT_5 * r + 5 * r * r / 3) * Math.exp(-ROOT_5 * r),
}

const GP_DEFAULTS = {kernel: "rbf", lengthscale: 0.6, outputscale: 1, noise: 1e-4, jitter: 1e-8}

/** The predictor of a GaussianProcess by its description. */
export function exactGP(description) {
  const {kernel, lengthscale, outputscale, noise, jitter} = {...GP_DEFAULTS, ...description}
  const covariance = (a, b) => outputscale * KERNELS[kernel](distance(a, b) / lengthscale)
  return new ExactGP(covariance, Math.max(noise, jitter * outputscale))
}

/** The predictor of a LinearRegression: a Gaussian process whose covariance is that of w . x. */
export function exactLinear({weight_scale: scale = 1, noise = 0.01}) {
  return new ExactGP((a, b) => scale * scale * a.reduce((sum, value, f) => sum + value * b[f], 0), noise)
}

function distance(a, b) {
  let squares = 0
  for (let f = 0; f < a.length; f++) {
    squares += (a[f] - b[f]) ** 2
  }
  return Math.sqrt(squares)
}

/** Any Gaussian process of zero mean; the noise is part of y. */
export class ExactGP {
  constructor(covariance, noise) {
    Object.assign(this, {covariance, noise})
  }

  /** Condition on a context; whatever does not depend on the query is kept. */
  condition(x, y) {
    const noisy = new Matrix(x.rows, x.rows)
    for (let i = 0; i < x.rows; i++) {
      for (let j = 0; j <= i; j++) {
        noisy.row(i)[j] = this.covariance(x.row(i), x.row(j)) + (i === j ? this.noise : 0)
      }
    }
    const factor = cholesky(noisy)
    return new GPPosterior(this, x, factor, solvedLower(factor, y))
  }

  logEvidence(x, y) {
    const {factor, white} = this.condition(x, y)
    const squares = white.reduce((sum, value) => sum + value * value, 0)
    return -squares / 2 - logDeterminant(factor) - y.length / 2 * Math.log(2 * Math.PI)
  }
}

class GPPosterior {
  constructor(gp, x, factor, white) {
    Object.assign(this, {gp, x, factor, white})
  }

  predict(queries) {
    const {gp, x, factor, white} = this
    const [loc, scale] = [new Float64Array(queries.rows), new Float64Array(queries.rows)]
    const cross = new Float64Array(x.rows)
    for (let i = 0; i < queries.rows; i++) {
      cross.forEach((_, j) => { cross[j] = gp.covariance(queries.row(i), x.row(j)) })
      let explained = 0
      solvedLower(factor, cross).forEach((value, j) => {
        loc[i] += value * white[j]
        explained += value * value
      })
      scale[i] = Math.sqrt(Math.max(gp.covariance(queries.row(i), queries.row(i)) - explained, 0) + gp.noise)
    }
    return NormalMixture.normal(loc, scale)
  }
}
