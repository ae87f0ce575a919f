// Random numbers that follow from a seed: a picture can be drawn again.

/** A generator of uniform numbers in (0, 1): Tommy Ettinger's mulberry32. */
export function uniforms(seed) {
  let state = seed * 0x9E3779B9 | 0
  return () => {
    state = state + 0x6D2B79F5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32 + 2 ** -33
  }
}

export function normal(uniform) {
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** A draw of Gamma(concentration, 1) by Marsaglia and Tsang; below 1 it is one of concentration + 1, times a power. */
export function gamma(uniform, concentration) {
  if (concentration < 1) {
    return gamma(uniform, concentration + 1) * uniform() ** (1 / concentration)
  }
  const d = concentration - 1 / 3
  for (;;) {
    const z = normal(uniform)
    const v = (1 + z / Math.sqrt(9 * d)) ** 3
    if (v > 0 && Math.log(uniform()) < 0.5 * z * z + d * (1 - v + Math.log(v))) {
      return d * v
    }
  }
}
