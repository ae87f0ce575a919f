// Tensors from a safetensors file: eight bytes of length, a JSON header, raw numbers.

import {PriorfitError} from "../errors.js"
import {Matrix} from "../numbers/matrix.js"

const SIZES = {F16: 2, BF16: 2, F32: 4, F64: 8}

/** The tensors of a file as {name: {shape, values}}, with values in float64. */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = bytes.length < 8 ? NaN : Number(view.getBigUint64(0, true))
  if (!(length > 1 && length <= bytes.length - 8)) {
    throw new PriorfitError("The weights are no safetensors file: its header is missing. Copy model.safetensors anew.")
  }
  let header
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)))
  } catch {
    throw new PriorfitError("The weights are damaged: the header of model.safetensors is not readable. Copy it anew.")
  }
  const tensors = {}
  for (const [name, record] of Object.entries(header)) {
    if (name !== "__metadata__") {
      tensors[name] = tensor(name, record, view, 8 + length)
    }
  }
  return tensors
}

function tensor(name, {dtype, shape, data_offsets: offsets}, view, start) {
  const count = (shape ?? [NaN]).reduce((product, size) => product * size, 1)
  const [first, last] = offsets ?? []
  if (!(dtype in SIZES)) {
    throw new PriorfitError(`${name} has numbers of type ${dtype}; the page reads F16, BF16, F32 and F64.`)
  }
  if (!(first >= 0 && last - first === count * SIZES[dtype] && start + last <= view.byteLength)) {
    throw new PriorfitError(`The weights are damaged: ${name} is not complete in model.safetensors. Copy it anew.`)
  }
  const values = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    values[i] = number(view, start + first + i * SIZES[dtype], dtype)
    if (!Number.isFinite(values[i])) {
      throw new PriorfitError(`${name} has values that are not finite; no prediction would be a number.`)
    }
  }
  return {shape, values}
}

function number(view, at, dtype) {
  switch (dtype) {
    case "F16": return half(view.getUint16(at, true))
    case "BF16": return brain(view.getUint16(at, true))
    case "F32": return view.getFloat32(at, true)
    default: return view.getFloat64(at, true)
  }
}

/** The number that 16 bits mean: 1 of sign, 5 of exponent, 10 of fraction. */
export function half(bits) {
  const exponent = bits >> 10 & 31
  const fraction = bits & 1023
  const size = exponent === 0 ? fraction * 2 ** -24
    : exponent === 31 ? (fraction ? NaN : Infinity)
    : (1024 + fraction) * 2 ** (exponent - 25)
  return bits & 0x8000 ? -size : size
}

const WORD = new DataView(new ArrayBuffer(4))

function brain(bits) {
  WORD.setUint16(0, bits)
  return WORD.getFloat32(0)
}

/** Tensors by name, of which each is taken once: what is missing, of another shape or left over is an error. */
export class Weights {
  constructor(tensors, prefix = "", left = new Set(Object.keys(tensors))) {
    this.tensors = tensors
    this.prefix = prefix
    this.left = left
  }

  under(name) {
    return new Weights(this.tensors, `${this.prefix}${name}.`, this.left)
  }

  has(name) {
    return this.prefix + name in this.tensors
  }

  vector(name, ...shape) {
    const whole = this.prefix + name
    const found = this.tensors[whole]
    if (!found) {
      throw new PriorfitError(`The weights do not fit the network that config.json describes: ${whole} is missing.`)
    }
    if (found.shape.join() !== shape.join()) {
      throw new PriorfitError(
        `The weights do not fit the network that config.json describes: ${whole} should have shape (${shape.join(", ")}); `
        + `the file has (${found.shape.join(", ")}).`)
    }
    this.left.delete(whole)
    return found.values
  }

  matrix(name, rows, columns) {
    return new Matrix(rows, columns, this.vector(name, rows, columns))
  }

  scalar(name) {
    return this.vector(name)[0]
  }

  linear(name, inputs, outputs) {
    const inner = this.under(name)
    return {weight: inner.matrix("weight", outputs, inputs), bias: inner.vector("bias", outputs)}
  }

  norm(name, width) {
    const inner = this.under(name)
    return {weight: inner.vector("weight", width), bias: inner.vector("bias", width)}
  }

  /** Refuse names that no part of the network has taken. */
  finish() {
    for (const name of this.left) {
      throw new PriorfitError(`The weights do not fit the network that config.json describes: ${name} is only in the file.`)
    }
  }
}
