// What heads share: bounds of a log scale, and corrections in units of a guess.

export const LOG_SCALE_RANGE = [-7, 3]

/** A distribution over reals in units of a guess: its scales are the guess's deviations, its shifts their means. */
export function inUnitsOf(own, guess) {
  if (!guess) {
    return own
  }
  const each = (value) => Float64Array.from({length: guess.count}, (_, i) => value(i))
  return own.affine(each((i) => guess.stddev(i)), each((i) => guess.mean(i)))
}
