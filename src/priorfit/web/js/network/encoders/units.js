// What encoders and bases share: the range of inputs, and a memory of what was computed.

/** The range of inputs mapped to [-1, 1]. */
export function toUnit(x, [low, high]) {
  return x.map((value) => (value - (low + high) / 2) / ((high - low) / 2))
}

/** A function of one object whose results are kept as long as the object lives. */
export function kept(compute) {
  const results = new WeakMap()
  return (key) => {
    if (!results.has(key)) {
      results.set(key, compute(key))
    }
    return results.get(key)
  }
}
