// Points as a context, and as text: in the address, so that a picture can be shared, and in the box where they can be typed or pasted.

import {PriorfitError} from "../errors.js"
import {Matrix} from "../numbers/matrix.js"

export const MOST_POINTS = 200

/** Points as a context: a matrix of inputs and an array of targets. */
export function contextOf(points, kind) {
  if (kind === "curves") {
    return [Matrix.column(points.map(({x}) => x)), Float64Array.from(points, ({y}) => y)]
  }
  const inputs = new Matrix(points.length, 2, Float64Array.from(points.flatMap(({x, y}) => [x, y])))
  return [inputs, Float64Array.from(points, ({label}) => label)]
}

const short = (value) => String(Number(value.toPrecision(5)))

const values = ({x, y, label}) => [short(x), short(y), ...(label === undefined ? [] : [label])]

/** One line a point: x y, or x1 x2 class. */
export function pointLines(points) {
  return points.map((point) => values(point).join(" ")).join("\n")
}

/** Points from lines; numbers are parted by spaces, commas or semicolons. */
export function readLines(text, subject) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean)
  return lines.map((line, i) => readPoint(line.split(/[\s,;]+/), subject, `Line ${i + 1}`))
}

function readPoint(parts, {kind, problem}, where) {
  const numbers = parts.map(Number)
  const expected = kind === "map" ? 3 : 2
  if (numbers.length !== expected || !numbers.every(Number.isFinite)) {
    const form = kind === "map" ? "x1 x2 class" : "x y"
    throw new PriorfitError(`${where} is not ${expected} numbers (${form}): "${parts.join(" ").slice(0, 40)}".`)
  }
  const [x, y, label] = numbers
  if (kind !== "map") {
    return {x, y}
  }
  if (!Number.isInteger(label) || label < 0 || label >= problem.outcome.count) {
    throw new PriorfitError(`${where} has class ${label}; the classes of this model are 0 ... ${problem.outcome.count - 1}.`)
  }
  return {x, y, label}
}

/** The part of an address behind the #. */
export function toAddress(name, points, known) {
  const fields = {model: name, points: points.map((point) => values(point).join("_")).join("~")}
  const latents = Object.entries(known).map(([latent, numbers]) => [latent, ...numbers.map(short)].join("~"))
  return new URLSearchParams([...Object.entries(fields), ...latents.map((each) => ["known", each])]).toString()
}

/** The model's name, the points and the known latents of an address, as text; null where it has none. */
export function fromAddress(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""))
  return {name: fields.get("model"), points: fields.get("points"), known: fields.getAll("known")}
}

export function pointsOfAddress(text, subject) {
  return text.split("~").filter(Boolean).map((each, i) => readPoint(each.split("_"), subject, `Point ${i + 1} of the link`))
}

/** Known latents by name, of texts such as decay~0.5; whether the model has them is for the model to say. */
export function knownOfAddress(texts) {
  return Object.fromEntries(texts.map((text) => {
    const [name, ...numbers] = text.split("~")
    return [name, numbers.map(Number)]
  }))
}
