// The mixture of the Normals of many cells as a first guess.

import {NormalMixture} from "../../distributions/normal_mixture.js"
import {Matrix} from "../../numbers/matrix.js"
import {logSumExp} from "../../numbers/special.js"
import {LEAST_LOG_WEIGHT, TOKEN_SCALE} from "./mixtures.js"
import {FirstGuess} from "./solver.js"

const BEFORE_THE_NEXT = 1e-6 // by so much a log weight counts less than that of the cell before it, where both are equal

/**
 * A mixture over cells and branches; tokens are told its moments, and those of the cells of the largest weights.
 * Each cell has {logWeight} over points, and {logShare, loc, scale} with an array over points for each branch.
 */
export function guessOf(cells, shown, count) {
  const branches = cells[0].loc.length
  const components = cells.length * branches
  const [logits, loc, scale] = [0, 1, 2].map(() => new Float64Array(count * components))
  const features = new Matrix(count, 3 * shown + 4)
  const moments = cells.map((cell, k) => {
    for (let b = 0; b < branches; b++) {
      for (let i = 0, at = k * branches + b; i < count; i++, at += components) {
        logits[at] = cell.logWeight[i] + cell.logShare[b][i]
        loc[at] = cell.loc[b][i]
        scale[at] = cell.scale[b][i]
      }
    }
    return momentsOf(cell, count)
  })
  const logWeights = new Float64Array(cells.length)
  for (let i = 0; i < count; i++) {
    cells.forEach(({logWeight}, k) => { logWeights[k] = logWeight[i] })
    tell(features.row(i), moments, logWeights, i)
  }
  return new FirstGuess(new NormalMixture(components, logits, loc, scale), features)
}

/** Mean and variance of a cell at each point. */
function momentsOf({logShare, loc, scale}, count) {
  const [middle, width] = [new Float64Array(count), new Float64Array(count)]
  for (let i = 0; i < count; i++) {
    for (let b = 0; b < loc.length; b++) {
      middle[i] += Math.exp(logShare[b][i]) * loc[b][i]
    }
    for (let b = 0; b < loc.length; b++) {
      width[i] += Math.exp(logShare[b][i]) * (scale[b][i] ** 2 + (loc[b][i] - middle[i]) ** 2)
    }
  }
  return {middle, width}
}

/** Write what tokens are told of point i. */
function tell(row, moments, logWeights, i) {
  const weights = logWeights.map(Math.exp)
  let [location, within, between] = [0, 0, 0]
  moments.forEach(({middle, width}, k) => {
    location += weights[k] * middle[i]
    within += weights[k] * width[i]
  })
  moments.forEach(({middle}, k) => { between += weights[k] * (middle[i] - location) ** 2 })
  const whole = within + between
  const shown = (row.length - 4) / 3
  largest(logWeights, shown).forEach(([logWeight, k], place) => {
    const isThere = logWeight > LEAST_LOG_WEIGHT
    row[place] = isThere ? (moments[k].middle[i] - location) / Math.sqrt(whole) : 0
    row[shown + place] = isThere ? 0.5 * Math.log(moments[k].width[i] / whole) : 0
    row[2 * shown + place] = Math.max(logWeight, LEAST_LOG_WEIGHT) / TOKEN_SCALE
  })
  const size = -logSumExp(logWeights.map((value) => 2 * value)) // log effective number of cells
  row.set([location, 0.5 * Math.log(whole), Math.log(within / whole), size], 3 * shown)
}

/** The largest log weights and their places, the largest first; where cells are fewer, the others are absent. */
export function largest(logWeights, shown) {
  const left = new Float64Array(Math.max(logWeights.length, shown)).fill(LEAST_LOG_WEIGHT)
  left.set(logWeights)
  for (let k = 0; k < left.length; k++) {
    left[k] -= BEFORE_THE_NEXT * k
  }
  return Array.from({length: shown}, () => {
    let top = 0
    for (let k = 1; k < left.length; k++) {
      top = left[k] > left[top] ? k : top
    }
    left[top] = -Infinity
    return [logWeights[top] ?? LEAST_LOG_WEIGHT, Math.min(top, logWeights.length - 1)]
  })
}
