// The transformer of the paper: no positions, pre-norm, and one memory a layer, made from the context alone.

import {add, linear, Matrix} from "../../numbers/matrix.js"
import {gelu} from "../../numbers/special.js"
import {ContextAttention} from "./attention.js"

const EPSILON = 1e-5

export function layerNorm(x, {weight, bias}) {
  const result = new Matrix(x.rows, x.columns)
  const width = x.columns
  for (let i = 0; i < x.rows; i++) {
    const start = i * width
    let sum = 0
    for (let k = 0; k < width; k++) {
      sum += x.data[start + k]
    }
    const mean = sum / width
    let squares = 0
    for (let k = 0; k < width; k++) {
      squares += (x.data[start + k] - mean) ** 2
    }
    const factor = 1 / Math.sqrt(squares / width + EPSILON)
    for (let k = 0; k < width; k++) {
      result.data[start + k] = (x.data[start + k] - mean) * factor * weight[k] + bias[k]
    }
  }
  return result
}

class Block {
  constructor(weights, width, heads, feedforward) {
    this.attentionNorm = weights.norm("attention_norm", width)
    this.attention = new ContextAttention(weights.under("attention"), width, heads)
    this.feedforwardNorm = weights.norm("feedforward_norm", width)
    this.expand = weights.linear("expand", width, feedforward)
    this.contract = weights.linear("contract", feedforward, width)
  }

  /** One layer; normed is the attention's norm of the tokens, which the memory was made from as well. */
  forward(tokens, normed, memory) {
    const attended = add(tokens, this.attention.forward(normed, memory))
    const inner = linear(layerNorm(attended, this.feedforwardNorm), this.expand)
    for (let i = 0; i < inner.data.length; i++) {
      inner.data[i] = gelu(inner.data[i])
    }
    return add(attended, linear(inner, this.contract))
  }
}

export class Transformer {
  constructor(weights, {width, layers, attention_heads: heads, feedforward}) {
    this.blocks = Array.from({length: layers}, (_, i) => new Block(weights.under(`blocks.${i}`), width, heads, feedforward))
    this.finalNorm = weights.norm("final_norm", width)
  }

  /** The keys and values of known latents in each layer, given those of the context. */
  offered(tokens, memories) {
    return this.blocks.map((block, i) => {
      const normed = layerNorm(tokens, block.attentionNorm)
      if (i + 1 < this.blocks.length) {
        tokens = block.forward(tokens, normed, memories[i])
      }
      return block.attention.offered(normed)
    })
  }

  /** What each layer keeps of a context. */
  condition(context) {
    const memories = []
    for (const block of this.blocks) {
      const normed = layerNorm(context, block.attentionNorm)
      memories.push(block.attention.keysValues(normed))
      if (memories.length < this.blocks.length) {
        context = block.forward(context, normed, memories.at(-1))
      }
    }
    return memories
  }

  /** The states of queries against a context that was conditioned on. */
  predict(queries, memories) {
    this.blocks.forEach((block, i) => {
      queries = block.forward(queries, layerNorm(queries, block.attentionNorm), memories[i])
    })
    return layerNorm(queries, this.finalNorm)
  }
}
