// The laws of a program in its cells, as combinations of a few functions on a grid of inputs.

import {Matrix, timesTransposed} from "../../numbers/matrix.js"
import {kept} from "../encoders/units.js"
import {NumbersOfCells} from "./cell_posterior.js"
import {Grid} from "./grids.js"
import {Curved, logTotals} from "./local.js"

const SPREAD_RANK = 16
const SPREADS = 3 // log variance, that of what is not quadratic, log share

/** In cell k, y = mean_k(x) + slope_k(x) . w + bends + noise; and the numbers of the latents, linear in w. */
export class CellLaws {
  constructor(weights, {cells, dimensions, curves, branches, rank}, numFeatures, numNumbers, Local) {
    const terms = 1 + dimensions + dimensions * (dimensions + 1) / 2
    const table = (name, columns, ...shape) => {
      const data = weights.vector(name, ...shape, columns)
      return new Matrix(data.length / columns, columns, data)
    }
    const grid = new Grid(weights.under("grid"), numFeatures)
    const [basis, spreadBasis] = [table("basis", rank, grid.numNodes), table("spread_basis", SPREAD_RANK, grid.numNodes)]
    const ofCurves = table("curves", rank, cells, curves, terms)
    const ofSpreads = table("spreads", SPREAD_RANK, cells, SPREADS, branches)
    this.numbers = new NumbersOfCells(
      table("numbers", dimensions + 1, cells, numNumbers), weights.vector("number_variance", cells, numNumbers), numNumbers)
    this.logWeights = weights.vector("log_weights", cells)
    /** The law at points in all cells, with its second-order terms. */
    this.at = kept((x) => {
      const values = timesTransposed(ofCurves, grid.interpolated(basis, x))
      const spreads = timesTransposed(ofSpreads, grid.interpolated(spreadBasis, x))
      return Array.from({length: cells}, (_, cell) => {
        const rows = Array.from({length: curves}, (_, c) => rowsOf(values, (cell * curves + c) * terms, terms))
        const [logVariance, logRest, logits] = [0, 1, 2].map((kind) =>
          rowsOf(spreads, (cell * SPREADS + kind) * branches, branches))
        const totals = logTotals(logits)
        const local = new Local(
          rows.map(([mean]) => mean), rows.map((each) => each.slice(1, 1 + dimensions)), logVariance.map(exponentials),
          logits.map((each) => each.map((value, i) => value - totals[i])))
        return new Curved(local, rows.map((each) => each.slice(1 + dimensions)), logRest.map(exponentials))
      })
    })
  }
}

const rowsOf = (matrix, start, count) => Array.from({length: count}, (_, k) => matrix.row(start + k))

const exponentials = (values) => values.map(Math.exp)
