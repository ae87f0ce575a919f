// A head for guesses that are nearly right: it moves them as a whole, and mixes in a few Normals of its own.

import {NormalMixture} from "../../distributions/normal_mixture.js"
import {clamp, logSoftmax, softplus} from "../../numbers/special.js"
import {mixtureOf} from "./mixture.js"

const NUMBERS = 4 // log odds of the own Normals, shift and log stretch of the guess, log power of its weights

export class AdjustedGuessHead {
  constructor(weights, {components = 10}) {
    this.components = components
    this.numParameters = NUMBERS + 3 * components
  }

  forward(parameters, guess) {
    const own = mixtureOf(parameters.slice(NUMBERS, this.numParameters))
    const [theirs, components] = [guess.components, guess.components + this.components]
    const [logits, loc, scale] = [0, 1, 2].map(() => new Float64Array(guess.count * components))
    for (let i = 0; i < guess.count; i++) {
      const [gate, shift, stretch, power] = parameters.row(i).subarray(0, NUMBERS).map((value) => clamp(value, -12, 12))
      const [mean, spread, start] = [guess.mean(i), guess.stddev(i), i * components]
      const [sharpness, factor] = [Math.exp(clamp(power, -2, 2)), Math.exp(clamp(stretch, -3, 3))]
      const weights = logSoftmax(guess.logProbs.subarray(i * theirs, (i + 1) * theirs).map((value) => value * sharpness))
      for (let k = 0, at = i * theirs; k < theirs; k++, at++) {
        logits[start + k] = weights[k] - softplus(gate)
        loc[start + k] = guess.loc[at] + spread * shift
        scale[start + k] = guess.scale[at] * factor
      }
      for (let k = theirs, at = i * this.components; k < components; k++, at++) {
        logits[start + k] = own.logProbs[at] - softplus(-gate)
        loc[start + k] = mean + spread * own.loc[at]
        scale[start + k] = spread * own.scale[at]
      }
    }
    return new NormalMixture(components, logits, loc, scale)
  }
}
