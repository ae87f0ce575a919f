// Units that a context itself gives: how columns and targets of a user's data are shown to a scale-free model.

import {Matrix} from "../numbers/matrix.js"

const same = (x) => x

/** A function from the user's columns to the model's. */
export function columnUnits(x, problem) {
  if (problem.units === "fixed" || x.rows === 0) {
    return same
  }
  const trained = problem.columns ?? {range: null, mean: 0, scale: 1}
  const each = Array.from({length: x.columns}, (_, column) => ownUnits(columnOf(x, column), trained))
  return (table) => {
    const changed = new Matrix(table.rows, table.columns)
    changed.data.forEach((_, at) => {
      const {shift, scale, origin, size} = each[at % table.columns]
      changed.data[at] = origin + size * ((table.data[at] - shift) / scale)
    })
    return changed
  }
}

function ownUnits(values, {range, mean, scale}) {
  if (range === null) {
    return {shift: average(values), scale: spread(values), origin: mean, size: scale}
  }
  const smallest = Math.min(...values)
  const width = Math.max(...values) - smallest
  const [low, high] = range
  return width === 0
    ? {shift: smallest - 0.5, scale: 1, origin: low, size: high - low}
    : {shift: smallest, scale: width, origin: low, size: high - low}
}

/** Mean and standard deviation of a context's targets; null where the model's units are fixed. */
export function targetUnits(y, problem) {
  if (problem.units === "fixed" || problem.isClasses) {
    return null
  }
  return y.length === 0 ? {shift: 0, scale: 1} : {shift: average(y), scale: spread(y)}
}

/** A table as the prior pads it: multiplied by features / used, and zeros in the columns that are left. */
export function padded(x, numFeatures) {
  if (x.columns === numFeatures) {
    return x
  }
  const wider = new Matrix(x.rows, numFeatures)
  for (let i = 0; i < x.rows; i++) {
    wider.row(i).set(x.row(i).map((value) => value * (numFeatures / x.columns)))
  }
  return wider
}

const columnOf = (x, column) => Float64Array.from({length: x.rows}, (_, i) => x.row(i)[column])

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

/** The standard deviation; 1 where it is 0 but for rounding, or where there is one point. */
function spread(values) {
  if (values.length < 2) {
    return 1
  }
  const mean = average(values)
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
  const deviation = Math.sqrt(squares / (values.length - 1))
  const rounding = 8 * 2 ** -52 * values.reduce((top, value) => Math.max(top, Math.abs(value)), 0)
  return deviation > rounding ? deviation : 1
}
