// Encoders of inputs: linear, and Fourier features. What they make of a matrix is kept as long as the matrix lives,
// since a page asks for the same queries again and again; so a matrix of inputs is never changed in place.

import {beside, linear, Matrix, times} from "../../numbers/matrix.js"
import {PolynomialLayer} from "./polynomials.js"
import {kept, toUnit} from "./units.js"

export class LinearEncoder {
  constructor(weights, settings, numFeatures, width) {
    this.layer = {weight: weights.matrix("weight", width, numFeatures), bias: weights.vector("bias", width)}
    this.forward = kept((x) => linear(x, this.layer))
  }
}

/** Tokens hold nothing of their input but what a solver tells of it. */
export class NoEncoder {
  constructor(weights, settings, numFeatures, width) {
    this.forward = (x) => new Matrix(x.rows, width)
  }
}

export class FourierLayer {
  constructor(weights, {num_frequencies: count = 64}, numFeatures, width, inputRange) {
    const frequencies = weights.matrix("frequencies", numFeatures, count)
    const layer = weights.linear("linear", 2 * count + numFeatures, width)
    this.forward = kept((x) => {
      const unit = toUnit(x, inputRange)
      const angles = times(unit, frequencies)
      return linear(beside(angles.map(Math.sin), angles.map(Math.cos), unit), layer)
    })
  }
}

/** The classes of encoders by the names of their settings. */
export const ENCODERS = {LinearEncoder, NoEncoder, FourierEncoder: FourierLayer, PolynomialEncoder: PolynomialLayer}
