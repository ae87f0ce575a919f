// A fixed basis for smooth functions of few features: waves over a period longer than the range of the inputs.

import {PriorfitError} from "../../errors.js"
import {beside, Matrix, times} from "../../numbers/matrix.js"
import {kept, toUnit} from "../encoders/units.js"

const SHORTEST_PERIOD = 1.25
const MOST = 4096 // functions that a basis may have

export class HarmonicLayer {
  constructor({order = 64, period = 3} = {}, numFeatures, inputRange) {
    if (!((2 * order) ** numFeatures <= 16 * MOST)) {
      throw new PriorfitError(`Harmonics may have at most ${MOST} functions; order ${order} has more.`)
    }
    const vectors = waves(order, numFeatures)
    const growth = period / SHORTEST_PERIOD - 1
    this.frequencies = new Matrix(numFeatures, vectors.length)
    vectors.forEach((vector, k) => {
      const stretch = 1 + growth * Math.hypot(...vector) / (2 * order)
      // The network keeps its frequencies in float32.
      vector.forEach((part, f) => { this.frequencies.row(f)[k] = Math.fround(Math.PI / period * stretch * part) })
    })
    const lengths = vectors.map((_, k) => Math.fround(Math.hypot(...vectors[0].map((_, f) => this.frequencies.row(f)[k]))))
    this.lengths = Float64Array.from([0, ...lengths, ...lengths])
    this.forward = kept((x) => {
      const angles = times(toUnit(x, inputRange), this.frequencies)
      return beside(new Matrix(x.rows, 1).map(() => 1), angles.map(Math.cos), angles.map(Math.sin))
    })
  }
}

/** Vectors of whole numbers of length up to order, without 0; of a vector and its opposite only one. */
export function waves(order, numFeatures) {
  let vectors = [[]]
  for (let f = 0; f < numFeatures; f++) {
    const range = Array.from({length: 2 * order + 1}, (_, i) => i - order)
    vectors = vectors.flatMap((vector) => range.map((part) => [...vector, part]))
  }
  const isKept = (vector) => {
    const first = vector.find((part) => part !== 0)
    return first > 0 && vector.reduce((sum, part) => sum + part * part, 0) <= order * order
  }
  return vectors.filter(isKept)
}
