// What a network knows of a latent of its prior: name, support, and an exact map from the real line onto it.

import {PriorfitError} from "../errors.js"
import {clamp, normalCdf, normalQuantile} from "../numbers/special.js"

const KINDS = ["real", "above", "below", "bounded", "classes"]
const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI)
const EDGE = 1e-15

export class LatentSpace {
  constructor({name, size, kind, origin = [], extent = [], shift = [], scale = [], count = 0}) {
    Object.assign(this, {name, size, kind, origin, extent, shift, scale, count})
    this.isClasses = kind === "classes"
    const lengths = this.isClasses ? [] : [origin, extent, shift, scale].map(({length}) => length)
    if (!KINDS.includes(kind) || !(size >= 1) || lengths.some((length) => length !== size) || this.isClasses && !(count >= 1)) {
      throw new PriorfitError(`config.json describes no latent that the page knows: ${JSON.stringify(name)}. Copy the model anew.`)
    }
  }

  /** Where its values lie, in words. */
  get support() {
    if (this.isClasses) {
      return `0 ... ${this.count - 1}`
    }
    const low = Math.min(...this.origin)
    const high = Math.max(...this.origin.map((value, i) => value + this.extent[i]))
    return {real: "any number", above: `above ${low}`, below: `below ${low}`}[this.kind] ?? `${low} to ${high}`
  }

  /** The value of number i at a coordinate; of a class the label. */
  value(coordinate, i = 0) {
    const v = this.shift[i] + this.scale[i] * coordinate
    switch (this.kind) {
      case "above": return this.origin[i] + Math.exp(v)
      case "below": return this.origin[i] - Math.exp(v)
      case "bounded": return this.origin[i] + this.extent[i] * normalCdf(v)
      case "real": return v
      default: return Math.round(coordinate)
    }
  }

  /** The coordinate of a value; of a class the label. */
  coordinate(value, i = 0) {
    if (this.isClasses) {
      return value
    }
    const off = value - this.origin[i]
    const v = {above: () => Math.log(off), below: () => Math.log(-off), real: () => value,
      bounded: () => normalQuantile(clamp(off / this.extent[i], EDGE, 1 - EDGE))}[this.kind]()
    return (v - this.shift[i]) / this.scale[i]
  }

  /** log |d value / d coordinate|. */
  logSlope(coordinate, i = 0) {
    const v = this.shift[i] + this.scale[i] * coordinate
    const outer = {real: 0, above: v, below: v}[this.kind] ?? Math.log(this.extent[i]) - v * v / 2 - HALF_LOG_2PI
    return Math.log(this.scale[i]) + outer
  }

  contains(value, i = 0) {
    switch (this.kind) {
      case "classes": return Number.isInteger(value) && value >= 0 && value < this.count
      case "above": return value > this.origin[i]
      case "below": return value < this.origin[i]
      case "bounded": return value >= this.origin[i] && value <= this.origin[i] + this.extent[i]
      default: return Number.isFinite(value)
    }
  }

  /** Refuse values outside of the support. */
  check(values) {
    if (values.length !== this.size) {
      throw new PriorfitError(`Latent ${this.name} has ${this.size} number(s); ${values.length} were given.`)
    }
    const wrong = values.find((value, i) => !this.contains(value, i))
    if (wrong !== undefined) {
      throw new PriorfitError(`Latent ${this.name} must be ${this.support}; got ${wrong}, which its prior never draws.`)
    }
  }
}
