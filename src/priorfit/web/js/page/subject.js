// A model as the page shows it: its window, its queries, and the reference that it is compared with.

import {PriorfitError} from "../errors.js"
import {referenceOf} from "../exact/dispatch.js"
import {inputLimits} from "../network/limits.js"
import {takes} from "../network/problem.js"
import {Matrix} from "../numbers/matrix.js"
import {contextOf} from "./points.js"

const NUM_QUERIES = 101
const UNKNOWN_RANGE = [-3, 3] // shown for a model whose inputs have no bounds
const MARGIN = 0.08 // of the trained range, on either side: there the network was not trained, and the page says so

/** Whether a model is shown as curves over one feature or as a map over two; an error where it is neither. */
export function kindOf(name, problem) {
  const fits = (columns) => problem.fewest_features <= columns && columns <= problem.num_features
  if (!problem.isClasses && fits(1)) {
    return "curves"
  }
  if (problem.isClasses && fits(2)) {
    return "map"
  }
  const targets = problem.isClasses ? `${problem.outcome.count} classes` : "real"
  throw new PriorfitError(
    `The page cannot show ${name}: it shows real targets over one feature and classes over two; this model takes `
    + `${takes(problem)} and its targets are ${targets}.`)
}

export class Subject {
  /** Asked says what Python can be asked about the model: null or undefined where nobody is there to be asked. */
  constructor(name, model, asked = null) {
    this.name = name
    this.asked = asked
    this.model = model
    this.problem = model.problem
    this.kind = kindOf(name, model.problem)
    this.trained = this.problem.units === "fixed" ? inputLimits(this.problem) : null
    const [low, high] = this.problem.input_range ?? UNKNOWN_RANGE
    const room = this.problem.input_range ? MARGIN * (high - low) : 0
    this.xRange = [low - room, high + room]
    this.yRange = this.kind === "map" ? this.xRange : valuesOf(model, [low, high])
    const told = asked?.reference ? {name: asked.reference, isTold: true} : null
    this.reference = this.kind === "curves" ? referenceOf(model.card.prior) ?? told : null
    this.queries = Matrix.column(middles(this.xRange, NUM_QUERIES))
    this._grids = new Map()
  }

  /** What the network says of each latent without any points: its prior, as far as the network has learned it. */
  get latentPriors() {
    this._latentPriors ??= this.model.condition(...contextOf([], this.kind)).latents()
    return this._latentPriors
  }

  /** The middles of the cells of a square map, row by row from below. */
  grid(size) {
    if (!this._grids.has(size)) {
      const [x, y] = [middles(this.xRange, size), middles(this.yRange, size)]
      const points = new Matrix(size * size, 2)
      points.data.forEach((_, at) => {
        points.data[at] = at % 2 ? y[Math.floor(at / 2 / size)] : x[Math.floor(at / 2) % size]
      })
      this._grids.set(size, points)
    }
    return this._grids.get(size)
  }

  isInside({x, y}) {
    const within = (value, [low, high]) => low <= value && value <= high
    return within(x, this.xRange) && within(y, this.yRange)
  }

  /** Whether an input of the user lies outside of all that training showed. */
  isUntrained(value) {
    return this.trained !== null && (value < this.trained[0] || value > this.trained[1])
  }

  /** The prior in one line. */
  get priorWords() {
    const {type, ...fields} = this.model.card.prior ?? {}
    if (!type) {
      return "a prior that its card does not tell"
    }
    if (fields.latents) { // a prior that was written as a function
      return [fields.name || type, fields.latents.map(({name, text}) => `${name} ~ ${text}`).join(", ")].join(": ")
    }
    const hidden = new Set(["num_features", "jitter", "source"])
    const words = Object.entries(fields)
      .filter(([name, value]) => !hidden.has(name) && (typeof value !== "object" || value?.type === "Gamma"))
      .map(([name, value]) => `${name.replace(/_prior$/, "").replaceAll("_", " ")} ${inWords(value)}`)
    return words.length ? `${type}: ${words.join(", ")}` : type
  }
}

function inWords(value) {
  return value?.type === "Gamma" ? `Gamma(${value.concentration}, ${value.rate})` : String(value)
}

export function middles([low, high], count) {
  return Float64Array.from({length: count}, (_, i) => low + (i + 0.5) / count * (high - low))
}

/** The range of y under the prior, with a margin, since the window must not move while a point is dragged. */
function valuesOf(model, xRange) {
  const ppd = model.condition(new Matrix(0, 1), new Float64Array(0)).predict(Matrix.column(middles(xRange, 9)))
  const [low, high] = [0.002, 0.998].map((level) => median(Array.from({length: 9}, (_, i) => ppd.icdf(i, level))))
  const room = 0.08 * (high - low)
  return [low - room, high + room]
}

export function median(values) {
  return Float64Array.from(values).sort()[Math.floor(values.length / 2)]
}
