// Class probabilities.

import {Categorical} from "../../distributions/categorical.js"

export class SoftmaxHead {
  constructor(weights, settings, outcome) {
    this.numParameters = outcome.count
  }

  forward(parameters, guess) {
    const logits = guess ? parameters.data.map((value, i) => value + guess.logProbs[i]) : parameters.data
    return new Categorical(this.numParameters, logits)
  }
}

/** A softmax that may also sharpen or flatten the probabilities of a guess, by a factor of at most e^2. */
export class TemperedHead {
  constructor(weights, settings, outcome) {
    this.classes = outcome.count
    this.numParameters = outcome.count + 1
  }

  forward(parameters, guess) {
    const logits = parameters.slice(0, this.classes)
    for (let i = 0; guess && i < logits.rows; i++) {
      const factor = Math.exp(2 * Math.tanh(parameters.row(i)[this.classes] / 2))
      logits.row(i).forEach((own, k, row) => { row[k] = own + factor * guess.logProb(i, k) })
    }
    return new Categorical(this.classes, logits.data)
  }
}

export class SigmoidHead {
  numParameters = 1

  forward(parameters, guess) {
    return Categorical.ofLogOdds(parameters.data.map((own, i) => guess ? own + guess.logOdds(i) : own))
  }
}
