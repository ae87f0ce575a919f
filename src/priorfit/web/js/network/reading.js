// How the numbers of a user's dataset are read: in the model's units, padded; and the way back.

import {columnUnits, padded, targetUnits} from "./context_units.js"
import {kept} from "./encoders/units.js"
import {after, toModel} from "./units.js"

export class Reading {
  constructor(x, y, problem) {
    const change = columnUnits(x, problem)
    this.units = targetUnits(y, problem)
    /** Inputs as the network sees them. */
    this.inputs = kept((table) => padded(change(table), problem.num_features))
  }

  /** Targets in the units of the model's training. */
  targets(y) {
    return toModel(y, this.units)
  }

  /** A distribution over the network's y as one over the user's. */
  toUser(ppd, networkUnits) {
    const units = networkUnits && after(this.units, networkUnits)
    if (!units) {
      return ppd
    }
    const each = (value) => new Float64Array(ppd.count).fill(value)
    return ppd.affine(each(units.scale), each(units.shift))
  }
}
