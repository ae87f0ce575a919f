// The cells of a program: a mixture of linear regressions on its latents, read off the prior's code and not learned.

import {logSoftmax} from "../../numbers/special.js"
import {CellLaws} from "./cell_laws.js"
import {CellsSolved} from "./cells_solved.js"
import {Local} from "./local.js"
import {Odds} from "./odds.js"
import {refined, solved} from "./regressions.js"

const DEFAULTS = {cells: 256, dimensions: 2, curves: 1, branches: 1, rank: 64}
export const SHOWN = 4 // cells, those of the largest weights, whose guesses tokens are told one by one
export const NEGLIGIBLE = 18 // cells whose log weight is so far below the largest are left out

export function buildCellSolver(weights, settings, problem) {
  return new CellRegression(weights, {...DEFAULTS, ...settings}, problem)
}

class CellRegression {
  guessesLatents = true

  constructor(weights, settings, problem) {
    const count = problem.latents.reduce((sum, {size}) => sum + size, 0)
    const Law = problem.outcome.type === "Classes" ? Odds : Local
    this.laws = new CellLaws(weights.under("laws"), settings, problem.num_features, count, Law)
    this.shown = Math.min(SHOWN, settings.cells)
    this.numNumbers = 3 * this.shown + 4
  }

  numberIn(cell, number) {
    return this.laws.numbers.at(cell, number)
  }

  condition(x, y) {
    const laws = this.laws.at(x)
    const {logWeights} = this.laws
    const first = laws.map(({local}, cell) => logWeights[cell] + solved(local, y).logEvidence)
    const best = first.reduce((most, value) => value > most ? value : most, -Infinity)
    const found = laws.flatMap((curved, cell) => // a cell that is not finite is kept
      first[cell] < best - NEGLIGIBLE ? [] : [{cell, ...refined(curved, y)}])
    return new CellsSolved(this, found, logSoftmax(found.map(({cell, logEvidence}) => logWeights[cell] + logEvidence)), y)
  }
}
