// Linear regressions with unit noise and unit prior: by points where they are few, else by features.

import {cholesky, inverted, logDeterminant, Matrix, solvedLower, timesTransposed, transposed} from "../../numbers/matrix.js"

/** The covariance of the weights as I - (W phi)^T (W phi), with a row of W and of phi for each point. */
class ByPoints {
  constructor(whitener, context, white, logEvidence) {
    Object.assign(this, {whitener, context, white, logEvidence})
  }

  moments(phi) {
    const cross = timesTransposed(phi, this.context)
    const known = timesLower(cross, this.whitener)
    const [mean, variance] = [new Float64Array(phi.rows), new Float64Array(phi.rows)]
    for (let i = 0; i < phi.rows; i++) {
      const row = known.row(i)
      mean[i] = product(row, this.white)
      const own = phi.row(i)
      variance[i] = Math.max(product(own, own) - product(row, row), 0) // of a difference that rounds
    }
    return {mean, variance}
  }
}

/** The covariance of the weights as W^T W, with a row of W for each feature. */
export class ByFeatures {
  constructor(whitener, white, logEvidence) {
    Object.assign(this, {whitener, white, logEvidence})
  }

  moments(phi) {
    const known = timesLower(phi, this.whitener)
    const [mean, variance] = [new Float64Array(phi.rows), new Float64Array(phi.rows)]
    for (let i = 0; i < phi.rows; i++) {
      const row = known.row(i)
      mean[i] = product(row, this.white)
      variance[i] = product(row, row)
    }
    return {mean, variance}
  }
}

/** Condition on a context, whose values are in units of the noise; an empty one leaves the prior. */
export function solve(phi, values) {
  return phi.rows < phi.columns ? solveByPoints(phi, values) : solveByFeatures(phi, values)
}

/** The log evidence alone, cheaper than a solution where points are few. */
export function logEvidence(phi, values) {
  if (phi.rows >= phi.columns) {
    return solveByFeatures(phi, values).solution.logEvidence
  }
  const factor = factorOf(gram(phi))
  const white = solvedLower(factor, values)
  return -0.5 * product(white, white) - logDeterminant(factor)
}

function solveByPoints(phi, values) {
  const factor = factorOf(gram(phi))
  const whitener = inverted(factor)
  const white = timesVector(whitener, values)
  const evidence = -0.5 * product(white, white) - logDeterminant(factor)
  const [mean, variance] = [new Float64Array(phi.rows), new Float64Array(phi.rows)]
  for (let j = 0; j < phi.rows; j++) {
    let [precision, solved] = [0, 0]
    for (let i = j; i < phi.rows; i++) {
      const weight = whitener.data[i * phi.rows + j]
      precision += weight * weight
      solved += weight * white[i]
    }
    mean[j] = values[j] - solved / precision
    variance[j] = 1 / precision - 1
  }
  return {solution: new ByPoints(whitener, phi, white, evidence), leftOut: {mean, variance}}
}

function solveByFeatures(phi, values) {
  const columns = transposed(phi)
  const factor = factorOf(gram(columns))
  const whitener = inverted(factor)
  const white = timesVector(whitener, timesVector(columns, values))
  const evidence = 0.5 * (product(white, white) - product(values, values)) - logDeterminant(factor)
  const solution = new ByFeatures(whitener, white, evidence)
  const {mean, variance: leverage} = solution.moments(phi)
  return {solution, leftOut: {
    mean: mean.map((value, i) => (value - leverage[i] * values[i]) / (1 - leverage[i])),
    variance: leverage.map((value) => value / (1 - value)),
  }}
}

/** The rows of a matrix times each other. */
export function gram(rows) {
  return timesTransposed(rows, rows)
}

/** The Cholesky factor of a Gram matrix plus identity. */
export function factorOf(matrix) {
  for (let i = 0; i < matrix.rows; i++) {
    matrix.data[i * matrix.rows + i] += 1
  }
  return cholesky(matrix)
}

export function product(a, b) {
  let sum = 0
  for (let k = 0; k < a.length; k++) {
    sum += a[k] * b[k]
  }
  return sum
}

export function timesVector(matrix, vector) {
  const result = new Float64Array(matrix.rows)
  for (let i = 0, at = 0; i < matrix.rows; i++) {
    for (let k = 0; k < matrix.columns; k++, at++) {
      result[i] += matrix.data[at] * vector[k]
    }
  }
  return result
}

/** rows L^T for a lower triangular L, whose zeros are left out. */
export function timesLower(rows, lower) {
  const result = new Matrix(rows.rows, lower.rows)
  const [A, L, size] = [rows.data, lower.data, lower.rows]
  for (let i = 0; i < rows.rows; i++) {
    const start = i * size
    for (let j = 0; j < size; j++) {
      const at = j * size
      let [even, odd] = [0, 0]
      let k = 0
      for (; k < j; k += 2) {
        even += A[start + k] * L[at + k]
        odd += A[start + k + 1] * L[at + k + 1]
      }
      result.data[start + j] = k === j ? even + odd + A[start + j] * L[at + j] : even + odd
    }
  }
  return result
}
