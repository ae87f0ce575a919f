// Functions of one or two inputs by their values on a grid, linear in between.

import {PriorfitError} from "../../errors.js"
import {Matrix} from "../../numbers/matrix.js"
import {clamp} from "../../numbers/special.js"

const NODES = {1: 1024, 2: 48} // along each axis, by the number of inputs

/** A grid over a box; beyond it functions keep their value at its border. */
export class Grid {
  constructor(weights, numFeatures) {
    if (!(numFeatures in NODES)) {
      throw new PriorfitError(`A grid is laid over 1 or 2 inputs; this model has ${numFeatures}.`)
    }
    this.axis = NODES[numFeatures]
    this.numNodes = this.axis ** numFeatures
    this.low = weights.vector("low", numFeatures)
    this.high = weights.vector("high", numFeatures)
  }

  /** Functions at inputs, one row an input, from a table of their values, one row a node. */
  interpolated(table, x) {
    const found = new Matrix(x.rows, table.columns)
    for (let i = 0; i < x.rows; i++) {
      const row = found.row(i)
      for (const [node, share] of this._corners(x.row(i))) {
        table.row(node).forEach((value, k) => { row[k] += share * value })
      }
    }
    return found
  }

  /** The nodes around an input, and the share of each. */
  _corners(input) {
    const last = this.axis - 1
    let corners = [[0, 1]]
    input.forEach((value, f) => {
      const place = clamp((value - this.low[f]) / (this.high[f] - this.low[f]) * last, 0, last)
      const below = Math.min(Math.floor(place), last - 1)
      const shares = [1 - (place - below), place - below]
      corners = corners.flatMap(([node, share]) => shares.map((own, side) => [node * this.axis + below + side, share * own]))
    })
    return corners
  }
}
