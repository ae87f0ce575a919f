// The encoder of smooth functions: all polynomials of x up to a degree.

import {PriorfitError} from "../../errors.js"
import {linear, Matrix} from "../../numbers/matrix.js"
import {clamp} from "../../numbers/special.js"
import {kept, toUnit} from "./units.js"

const ENCODED_RMS = 0.7
const MOST = 4096 // polynomials that an encoder may have

export class PolynomialLayer {
  constructor(weights, {degree = 4, decay = 0.3}, numFeatures, width, inputRange) {
    let count = 1
    for (let k = 1; k <= degree && count <= MOST; k++) {
      count *= (numFeatures + k) / k
    }
    if (!(count <= MOST)) {
      throw new PriorfitError(`A PolynomialEncoder may have at most ${MOST} polynomials; degree ${degree} has more.`)
    }
    const degrees = allDegrees(numFeatures, degree)
    const falls = degrees.map((each) => decay ** each.reduce((sum, power) => sum + power, 0))
    const squares = falls.reduce((sum, fall) => sum + fall * fall, 0)
    const whole = ENCODED_RMS * Math.sqrt(Math.max(width, degrees.length) / squares)
    const layer = weights.linear("linear", degrees.length, width)
    this.forward = kept((x) => {
      const unit = toUnit(x, inputRange).map((value) => clamp(value, -1, 1))
      const values = new Matrix(x.rows, degrees.length)
      for (let i = 0; i < x.rows; i++) {
        const orders = Array.from(unit.row(i), (value) => legendre(value, degree))
        degrees.forEach((each, k) => {
          values.row(i)[k] = each.reduce((product, power, f) => product * orders[f][power], whole * falls[k])
        })
      }
      return linear(values, layer)
    })
  }
}

/** The powers of each polynomial in each feature, by total degree, in the order of combinations with replacement. */
export function allDegrees(numFeatures, degree) {
  const found = []
  const extend = (powers, from, left) => {
    if (left === 0) {
      found.push(powers)
      return
    }
    for (let feature = from; feature < numFeatures; feature++) {
      extend(powers.map((power, f) => power + (f === feature)), feature, left - 1)
    }
  }
  for (let total = 0; total <= degree; total++) {
    extend(Array(numFeatures).fill(0), 0, total)
  }
  return found
}

/** Legendre polynomials of degrees 0 to degree on [-1, 1], of mean square 1, by Bonnet's recursion. */
export function legendre(x, degree) {
  const values = [1, x]
  for (let order = 2; order <= degree; order++) {
    values.push(((2 * order - 1) * x * values[order - 1] - (order - 1) * values[order - 2]) / order)
  }
  return values.slice(0, degree + 1).map((value, order) => Math.sqrt(2 * order + 1) * value)
}
