// Probabilities of classes, one set for each query.

import {logSoftmax} from "../numbers/special.js"

export class Categorical {
  /** Logits: an array of count * classes numbers, query by query. */
  constructor(classes, logits) {
    this.classes = classes
    this.count = logits.length / classes
    this.logProbs = new Float64Array(logits.length)
    for (let i = 0; i < this.count; i++) {
      this.logProbs.set(logSoftmax(logits.subarray(i * classes, (i + 1) * classes)), i * classes)
    }
    this.probs = this.logProbs.map(Math.exp)
  }

  /** Two classes with these log odds of class 1. */
  static ofLogOdds(logOdds) {
    const logits = new Float64Array(2 * logOdds.length)
    logOdds.forEach((value, i) => { logits[2 * i + 1] = value })
    return new Categorical(2, logits)
  }

  logProb(i, label) {
    return this.logProbs[i * this.classes + label]
  }

  prob(i, label) {
    return this.probs[i * this.classes + label]
  }

  logOdds(i) {
    return this.logProbs[2 * i + 1] - this.logProbs[2 * i]
  }

  entropy(i) {
    let sum = 0
    for (let k = i * this.classes; k < (i + 1) * this.classes; k++) {
      sum -= this.probs[k] ? this.probs[k] * this.logProbs[k] : 0
    }
    return sum
  }
}
