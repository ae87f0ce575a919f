// How tokens are told what a solver says about their points.

import {beside, linear, Matrix} from "../../numbers/matrix.js"

export class GuessEncoder {
  constructor(weights, numNumbers, width) {
    this.labelledLayer = weights.linear("linear", numNumbers + 1, width)
    const {weight, bias} = this.labelledLayer
    this.queryLayer = {weight: weight.slice(0, numNumbers), bias}
  }

  /** Tokens of queries: a point whose target is not known has no surprise. */
  forward(guess) {
    return linear(guess.features, this.queryLayer)
  }

  /** Tokens of context points, each told what the other points say about it, and how far off that is. */
  labelled(guess, y) {
    return linear(beside(guess.features, Matrix.column(guess.surprise(y))), this.labelledLayer)
  }
}
