// The mixture of the class probabilities of many cells as a first guess.

import {Categorical} from "../../distributions/categorical.js"
import {Matrix} from "../../numbers/matrix.js"
import {logSumExp} from "../../numbers/special.js"
import {largest} from "./cell_guess.js"
import {LEAST_LOG_WEIGHT, TOKEN_SCALE} from "./mixtures.js"
import {FirstGuess} from "./solver.js"

/** A mixture over cells, each with {logWeight} over points and {logProbs} with an array over points for each class. */
export function classGuessOf(cells, shown, count) {
  const classes = cells[0].logProbs.length
  const [logits, features] = [new Float64Array(count * classes), new Matrix(count, 3 * shown + 4)]
  for (let i = 0; i < count; i++) {
    const logWeights = Float64Array.from(cells, ({logWeight}) => logWeight[i])
    const own = logits.subarray(i * classes, (i + 1) * classes)
    own.forEach((_, label) => { own[label] = logSumExp(cells.map(({logProbs}, k) => logWeights[k] + logProbs[label][i])) })
    const best = own.indexOf(Math.max(...own))
    const entropies = cells.map(({logProbs}) => entropyOf(logProbs.map((each) => each[i])))
    const row = features.row(i)
    largest(logWeights, shown).forEach(([logWeight, k], place) => {
      const isThere = logWeight > LEAST_LOG_WEIGHT
      row[place] = isThere ? Math.exp(cells[k].logProbs[best][i]) : 0
      row[shown + place] = isThere ? entropies[k] : 0
      row[2 * shown + place] = Math.max(logWeight, LEAST_LOG_WEIGHT) / TOKEN_SCALE
    })
    const unsure = entropyOf(own) - entropies.reduce((sum, value, k) => sum + Math.exp(logWeights[k]) * value, 0)
    row.set([own[best], entropyOf(own), unsure, -logSumExp(logWeights.map((value) => 2 * value))], 3 * shown)
  }
  return new FirstGuess(new Categorical(classes, logits), features)
}

const entropyOf = (logProbs) => -logProbs.reduce((sum, value) => sum + Math.exp(value) * value, 0)
