// Attention over the context: the one place where tokens look at each other.

import {above, linear, Matrix, timesTransposed} from "../../numbers/matrix.js"

export class ContextAttention {
  constructor(weights, width, heads) {
    const projections = weights.under("projections")
    const part = (name) => ({weight: projections.under(name).matrix("weight", width, width), bias: null})
    Object.assign(this, {heads, query: part("query"), key: part("key"), value: part("value"), output: part("output")})
    this.sinkKey = weights.vector("sink_key", heads, 1, width / heads)
    this.sinkValue = weights.vector("sink_value", heads, 1, width / heads)
  }

  /** Keys and values of a context with the sink's behind them, in rows of all heads side by side. */
  keysValues(context) {
    return {
      keys: withRow(linear(context, this.key), this.sinkKey),
      values: withRow(linear(context, this.value), this.sinkValue),
    }
  }

  /** What known latents offer: keys and values without a sink. */
  offered(tokens) {
    return {keys: linear(tokens, this.key), values: linear(tokens, this.value)}
  }

  /** Every token, of the context or not, looks at the memory. */
  forward(tokens, {keys, values}) {
    const queries = linear(tokens, this.query)
    const attended = new Matrix(tokens.rows, tokens.columns)
    const size = tokens.columns / this.heads
    const [K, V, Q, A] = [keys.data, values.data, queries.data, attended.data]
    const [width, memory] = [tokens.columns, keys.rows]
    const shares = new Float64Array(memory)
    const factor = 1 / Math.sqrt(size)
    for (let i = 0; i < tokens.rows; i++) {
      for (let start = 0; start < width; start += size) {
        const own = i * width + start
        let top = -Infinity
        for (let j = 0; j < memory; j++) {
          let product = 0
          for (let k = 0, at = j * width + start; k < size; k++) {
            product += Q[own + k] * K[at + k]
          }
          shares[j] = product * factor
          top = Math.max(top, shares[j])
        }
        let total = 0
        for (let j = 0; j < memory; j++) {
          shares[j] = Math.exp(shares[j] - top)
          total += shares[j]
        }
        for (let j = 0; j < memory; j++) {
          const share = shares[j] / total
          for (let k = 0, at = j * width + start; k < size; k++) {
            A[own + k] += share * V[at + k]
          }
        }
      }
    }
    return timesTransposed(attended, this.output.weight)
  }
}

const withRow = (matrix, row) => above(matrix, new Matrix(1, matrix.columns, row))

/** Two memories as one. */
export function joined(one, other) {
  return {keys: above(one.keys, other.keys), values: above(one.values, other.values)}
}
