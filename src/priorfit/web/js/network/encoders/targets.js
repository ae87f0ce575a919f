// Encoders of targets.

import {linear, Matrix} from "../../numbers/matrix.js"

class RealTargetEncoder {
  constructor(weights, width) {
    this.layer = weights.linear("linear", 1, width)
  }

  forward(y) {
    return linear(Matrix.column(y), this.layer)
  }
}

class ClassEncoder {
  constructor(weights, width, count) {
    this.width = width
    this.table = weights.under("table").matrix("weight", count, width)
  }

  forward(y) {
    const tokens = new Matrix(y.length, this.width)
    y.forEach((label, i) => tokens.row(i).set(this.table.row(label)))
    return tokens
  }
}

export function targetEncoder(weights, outcome, width) {
  return outcome.type === "Classes"
    ? new ClassEncoder(weights, width, outcome.count)
    : new RealTargetEncoder(weights, width)
}
