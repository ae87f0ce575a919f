// Functions drawn point by point, each y given those before; the examples are such draws.

import {PriorfitError} from "../errors.js"
import {uniforms} from "../numbers/random.js"
import {Matrix} from "../numbers/matrix.js"
import {contextOf} from "./points.js"

const NUM_PLACES = 40
const GOLDEN = 0.6180339887
const [PLASTIC_X, PLASTIC_Y] = [0.7548776662, 0.5698402910] // of the plane's most even sequence

const even = (count) => Array.from({length: count}, (_, i) => (0.5 + GOLDEN * i) % 1)

/** Inputs of the points of each example, as shares of the window. */
const EXAMPLES = {
  "no points": [],
  "three points": [0.3, 0.45, 0.75],
  "a gap": [0.03, 0.1, 0.17, 0.25, 0.75, 0.83, 0.9, 0.97],
  "one side": [0.04, 0.1, 0.16, 0.22, 0.28, 0.34],
  "twenty points": even(20),
}
const MAP_EXAMPLES = {"no points": 0, "six points": 6, "twenty points": 20, "fifty points": 50}

export const exampleNames = (kind) => Object.keys(kind === "map" ? MAP_EXAMPLES : EXAMPLES)
export const FIRST_EXAMPLE = {curves: "three points", map: "twenty points"}
const EXAMPLE_SEED = 9

/** The points of an example, drawn from the model itself, so that they are likely under its prior. */
export function example({model, kind, problem, xRange, yRange}, name, known = {}) {
  const seed = EXAMPLE_SEED + exampleNames(kind).indexOf(name)
  const most = model.card.trained_context?.[1] ?? Infinity
  const uniform = uniforms(seed)
  const points = []
  const [low, high] = problem.input_range ?? xRange
  const at = (share) => low + share * (high - low)
  if (kind === "map") {
    for (let i = 1; i <= Math.min(MAP_EXAMPLES[name], most); i++) {
      const [x, y] = [at((i * PLASTIC_X) % 1), at((i * PLASTIC_Y) % 1)]
      const ppd = model.condition(...contextOf(points, kind), known).predict(new Matrix(1, 2, Float64Array.of(x, y)))
      points.push({x, y, label: drawnLabel(ppd, uniform())})
    }
    return points
  }
  for (const x of EXAMPLES[name].slice(0, most).map(at)) {
    const y = model.condition(...contextOf(points, kind), known).predict(Matrix.column([x])).icdf(0, uniform())
    points.push({x, y: Math.min(Math.max(y, yRange[0]), yRange[1])})
  }
  return points
}

function drawnLabel(ppd, level) {
  let label = 0
  for (let below = ppd.prob(0, 0); below < level && label < ppd.classes - 1; label++) {
    below += ppd.prob(0, label + 1)
  }
  return label
}

/** Yields functions on an even grid, from coarse to fine: {x, y: one array a function}; each y drawn joins the context. */
export function* drawFunctions({name, model, kind, problem, xRange}, {points, known}, count, seed) {
  const most = model.card.trained_context?.[1] ?? Infinity
  const places = Math.min(NUM_PLACES, most + 1 - points.length)
  if (places < 2) {
    throw new PriorfitError(
      `${name} was trained on at most ${most} points, and a function drawn point by point needs some of them; there are `
      + `${points.length} already. Delete a few.`)
  }
  const range = problem.input_range ?? xRange
  const x = Float64Array.from({length: places}, (_, i) => range[0] + i / (places - 1) * (range[1] - range[0]))
  const uniform = uniforms(seed)
  const contexts = Array.from({length: count}, () => [...points])
  for (const [step, place] of coarseToFine(places).entries()) {
    for (const context of contexts) {
      const ppd = model.condition(...contextOf(context, kind), known).predict(Matrix.column([x[place]]))
      context.push({x: x[place], y: ppd.icdf(0, uniform())})
      yield
    }
    if (step > 0) {
      yield contexts.map((context) => context.slice(points.length).sort((a, b) => a.x - b.x))
    }
  }
}

/** An order of 0 ... count - 1 in which every beginning is spread over the whole. */
export function coarseToFine(count) {
  const bits = Math.ceil(Math.log2(count + 1)) + 1
  const order = new Set([0, count - 1])
  for (let i = 0; i < 2 ** bits; i++) {
    let share = 0
    for (let bit = 0; bit < bits; bit++) {
      share += (i >> bit & 1) / 2 ** (bit + 1)
    }
    order.add(Math.round(share * (count - 1)))
  }
  return [...order]
}

