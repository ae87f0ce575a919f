// Normals and mixtures of Normals. A head turns a matrix of parameters, one row a query, into a distribution.

import {NormalMixture} from "../../distributions/normal_mixture.js"
import {clamp} from "../../numbers/special.js"
import {inUnitsOf, LOG_SCALE_RANGE} from "./head.js"

const toScale = (logScale) => Math.exp(clamp(logScale, ...LOG_SCALE_RANGE))

export class NormalHead {
  numParameters = 2

  forward(parameters, guess) {
    const scale = parameters.slice(1, 2).data.map(toScale)
    return inUnitsOf(NormalMixture.normal(parameters.slice(0, 1).data, scale), guess)
  }
}

export class NormalMixtureHead {
  constructor(weights, {components = 10}) {
    this.numParameters = 3 * components
  }

  forward(parameters, guess) {
    return inUnitsOf(mixtureOf(parameters), guess)
  }
}

/** The mixture of Normals that a solver guesses, with numbers added to log weights, locations and log scales. */
export class CorrectedMixtureHead {
  constructor(weights, {components = 7}) {
    this.components = components
    this.numParameters = 3 * components
  }

  forward(parameters, guess) {
    const corrected = parameters.map((value) => value)
    for (let i = 0; i < parameters.rows; i++) {
      const [row, mean, spread] = [corrected.row(i), guess.mean(i), guess.stddev(i)]
      for (let k = 0; k < this.components; k++) {
        const at = i * this.components + k
        row[k] += guess.logProbs[at]
        row[this.components + k] += (guess.loc[at] - mean) / spread
        row[2 * this.components + k] += Math.log(guess.scale[at] / spread)
      }
    }
    return inUnitsOf(mixtureOf(corrected), guess)
  }
}

/** The mixture whose logits, locations and log scales are the thirds of some numbers. */
export function mixtureOf(parameters) {
  const components = parameters.columns / 3
  const [logits, loc, logScale] = [0, 1, 2].map((third) => parameters.slice(third * components, (third + 1) * components).data)
  return new NormalMixture(components, logits, loc, logScale.map(toScale))
}
