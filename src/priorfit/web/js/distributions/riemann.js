// The paper's Riemann distribution: buckets of constant density, bounded or with half-normal tails.

import {clamp, logSumExp, erfc, normalQuantile} from "../numbers/special.js"

const UPPER_QUARTILE = 0.6744897501960817 // half of a half-normal's mass lies within this many scales
const HALF_NORMAL_MEAN = Math.sqrt(2 / Math.PI)

export class Riemann {
  /** Borders are shared; query i has logits, and its y are scale[i] * (y of the borders) + shift[i]. */
  constructor(borders, logits, hasTails, scale = null, shift = null) {
    this.borders = borders
    this.buckets = borders.length - 1
    this.count = logits.length / this.buckets
    this.hasTails = hasTails
    this.logits = logits
    this.scale = scale ?? new Float64Array(this.count).fill(1)
    this.shift = shift ?? new Float64Array(this.count)
    this.cumulative = new Float64Array(this.count * (this.buckets + 1))
    this.logTotals = new Float64Array(this.count)
    for (let i = 0; i < this.count; i++) {
      const own = logits.subarray(i * this.buckets, (i + 1) * this.buckets)
      this.logTotals[i] = logSumExp(own)
      for (let k = 0, sum = 0; k < this.buckets; k++) {
        sum += Math.exp(own[k] - this.logTotals[i])
        this.cumulative[i * (this.buckets + 1) + k + 1] = sum
      }
    }
  }

  affine(scale, shift) {
    const scales = this.scale.map((own, i) => scale[i] * own)
    return new Riemann(this.borders, this.logits, this.hasTails, scales, this.shift.map((own, i) => scale[i] * own + shift[i]))
  }

  /** The bucket of a standard y; the outer ones reach to infinity. */
  _bucket(y) {
    let [low, high] = [0, this.buckets - 1]
    while (low < high) {
      const middle = low + high + 1 >> 1
      if (this.borders[middle] <= y) {
        low = middle
      } else {
        high = middle - 1
      }
    }
    return low
  }

  _width(k) {
    return this.borders[k + 1] - this.borders[k]
  }

  /** How many scales a y of an outer bucket lies beyond the tail's start, and that scale; null for all other buckets. */
  _tail(k, y) {
    if (!this.hasTails || (k > 0 && k < this.buckets - 1)) {
      return null
    }
    const scale = this._width(k) / UPPER_QUARTILE
    return {scale, beyond: (k === 0 ? this.borders[1] - y : y - this.borders[k]) / scale}
  }

  logProb(i, y) {
    const own = (y - this.shift[i]) / this.scale[i]
    const k = this._bucket(own)
    const tail = this._tail(k, own)
    const outside = own < this.borders[0] || own > this.borders[this.buckets]
    const within = tail ? Math.log(HALF_NORMAL_MEAN / tail.scale) - tail.beyond ** 2 / 2
      : outside ? -Infinity : -Math.log(this._width(k))
    return this.logits[i * this.buckets + k] - this.logTotals[i] + within - Math.log(this.scale[i])
  }

  cdf(i, y) {
    const own = (y - this.shift[i]) / this.scale[i]
    const k = this._bucket(own)
    const at = i * (this.buckets + 1) + k
    const [below, mass] = [this.cumulative[at], this.cumulative[at + 1] - this.cumulative[at]]
    const tail = this._tail(k, own)
    if (tail) {
      const beyond = erfc(tail.beyond * Math.SQRT1_2)
      return below + mass * (k === 0 ? beyond : 1 - beyond)
    }
    return below + mass * clamp((own - this.borders[k]) / this._width(k), 0, 1)
  }

  cdfs(i, low, width, count) {
    return Float64Array.from({length: count}, (_, k) => this.cdf(i, low + k * width))
  }

  icdf(i, level) {
    const start = i * (this.buckets + 1)
    let [low, high] = [0, this.buckets - 1]
    while (low < high) {
      const middle = low + high >> 1
      if (this.cumulative[start + middle + 1] >= level) {
        high = middle
      } else {
        low = middle + 1
      }
    }
    const mass = this.cumulative[start + low + 1] - this.cumulative[start + low]
    const share = mass > 0 ? clamp((level - this.cumulative[start + low]) / mass, 0, 1) : 0.5
    return this.shift[i] + this.scale[i] * this._within(low, share)
  }

  _within(k, share) {
    const tail = this._tail(k, 0)
    if (!tail) {
      return this.borders[k] + share * this._width(k)
    }
    return k === 0
      ? this.borders[1] + tail.scale * normalQuantile(share / 2)
      : this.borders[k] - tail.scale * normalQuantile((1 - share) / 2)
  }

  _moments(k) {
    const tail = this._tail(k, 0)
    if (!tail) {
      return [(this.borders[k] + this.borders[k + 1]) / 2, this._width(k) ** 2 / 12]
    }
    const away = HALF_NORMAL_MEAN * tail.scale
    return [k === 0 ? this.borders[1] - away : this.borders[k] + away, (1 - HALF_NORMAL_MEAN ** 2) * tail.scale ** 2]
  }

  _sum(i, value) {
    let sum = 0
    for (let k = 0; k < this.buckets; k++) {
      const at = i * (this.buckets + 1) + k
      sum += (this.cumulative[at + 1] - this.cumulative[at]) * value(...this._moments(k))
    }
    return sum
  }

  mean(i) {
    return this.shift[i] + this.scale[i] * this._sum(i, (mean) => mean)
  }

  stddev(i) {
    const whole = this._sum(i, (mean) => mean)
    return this.scale[i] * Math.sqrt(this._sum(i, (mean, variance) => variance + (mean - whole) ** 2))
  }
}
