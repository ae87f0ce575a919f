// Where a point stands in its context: an ablation, since the order of a dataset means nothing.

const LONGEST_WAVE = 10_000

/** Adds sines (first half of the width) and cosines of a token's place to the token. */
export function sinusoidalPositions(context) {
  const half = Math.ceil(context.columns / 2)
  for (let i = 0; i < context.rows; i++) {
    const token = context.row(i)
    for (let k = 0; k < context.columns; k++) {
      const angle = i * LONGEST_WAVE ** -((k % half) / half)
      token[k] += k < half ? Math.sin(angle) : Math.cos(angle)
    }
  }
  return context
}

export const POSITIONS = {none: (context) => context, sinusoidal: sinusoidalPositions}
