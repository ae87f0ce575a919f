// A first guess: what a solver says about points, and the numbers that tokens are told of it.

import {Categorical} from "../../distributions/categorical.js"

export class FirstGuess {
  constructor(ppd, features) {
    this.ppd = ppd
    this.features = features
  }

  /** How far targets lie from the guess, between -1 and 1. */
  surprise(y) {
    const {ppd} = this
    if (!(ppd instanceof Categorical)) {
      return y.map((value, i) => Math.tanh((value - ppd.mean(i)) / ppd.stddev(i) / 3))
    }
    return y.map((label, i) => ppd.classes === 2 ? label - ppd.prob(i, 1) : 1 - ppd.prob(i, label))
  }
}
