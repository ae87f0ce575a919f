// The posterior of w in a cell, given a Normal factor for each target.

import {inverted, Matrix, transposed} from "../../numbers/matrix.js"
import {factorOf, gram, product, timesVector} from "./gaussian.js"

/** The prior of w. */
export function before({slope}) {
  const size = slope[0].length
  const spread = new Matrix(size, size)
  for (let k = 0; k < size; k++) {
    spread.data[k * size + k] = 1
  }
  return {state: new Float64Array(size), spread}
}

/** Mean and covariance of w given a site for each point and mean, and the factor of the precision. */
export function posteriorOf(slope, precision, shift) {
  const size = slope[0].length, count = shift[0].length
  const [squares, right, weighted] = [new Matrix(size, size), new Float64Array(size), new Float64Array(count)]
  slope.forEach((rows, c) => {
    rows.forEach((row, k) => {
      right[k] += product(row, shift[c])
      for (let i = 0; i < count; i++) {
        weighted[i] = row[i] * precision[c][i]
      }
      for (let l = 0; l <= k; l++) { // Cholesky's algorithm reads no more
        squares.data[k * size + l] += product(weighted, rows[l])
      }
    })
  })
  const factor = factorOf(squares)
  const spread = gram(transposed(inverted(factor)))
  return {state: timesVector(spread, right), spread, factor}
}
