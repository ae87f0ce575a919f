// Every number that is drawn, without how it is drawn.

import {Matrix} from "../numbers/matrix.js"
import {contextOf} from "./points.js"
import {median} from "./subject.js"

const LEVELS = {low95: 0.025, low50: 0.25, high50: 0.75, high95: 0.975}
const NUM_VALUES = 161
const NUM_SLICE_VALUES = 600

export const LINES = ["mean", "low50", "high50", "low95", "high95"]

/** Mean and the limits of the central 50 % and 95 % intervals at each query. */
export function bandsOf(ppd) {
  const each = (value) => Float64Array.from({length: ppd.count}, (_, i) => value(i))
  const bands = {mean: each((i) => ppd.mean(i))}
  for (const [name, level] of Object.entries(LEVELS)) {
    bands[name] = each((i) => ppd.icdf(i, level))
  }
  return bands
}

/** The mean density between neighbouring edges of y at query i: a ridge that is narrower than a cell is not missed. */
export function cellDensity(ppd, i, [low, high], count) {
  const width = (high - low) / count
  const below = ppd.cdfs(i, low, width, count + 1)
  const density = new Float64Array(count)
  for (let k = 0; k < count; k++) {
    density[k] = Math.max(below[k + 1] - below[k], 0) / width
  }
  return density
}

/** Colours follow the power 3/8 of the density, so that broad and narrow ones are both visible; roots are fast. */
function shade(density) {
  const root = Math.sqrt(Math.sqrt(Math.sqrt(density)))
  return root * root * root
}

/** The density as shades from 0 to 1, column by column, each from below; 1 is the median peak, as peaks at points dwarf all else. */
export function heatOf(ppd, yRange) {
  const columns = Array.from({length: ppd.count}, (_, i) => cellDensity(ppd, i, yRange, NUM_VALUES))
  const top = Math.max(median(columns.map((column) => column.reduce((most, value) => Math.max(most, value), 0))), 1e-12)
  return columns.map((column) => column.map((value) => shade(Math.min(value / top, 1))))
}

/** The density of y at one x; null where only Python could say it and has not yet. */
export function cutAt(posterior, x, yRange) {
  return posterior.densityAt ? posterior.densityAt(x) : cellDensity(posterior.predict(Matrix.column([x])), 0, yRange, NUM_SLICE_VALUES)
}

const SURPRISE = 1e-4
const MOST_CHECKED = 60

/** Whether the exact posterior given the other points excludes one of them. */
export function hasSurprise(predictor, points) {
  if (!predictor || points.length === 0 || points.length > MOST_CHECKED) {
    return false
  }
  return points.some((point, i) => {
    const posterior = predictor.condition(...contextOf(points.filter((_, j) => j !== i), "curves"))
    const below = posterior.predict(Matrix.column([point.x])).cdf(0, point.y)
    return 2 * Math.min(below, 1 - below) < SURPRISE / points.length
  })
}
