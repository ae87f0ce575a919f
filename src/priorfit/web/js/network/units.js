// Units of targets: from the model's numbers to those that the network sees, as {shift, scale}; null for classes.

export function scalingFor(weights, problem, name) {
  const location = weights.scalar("location")
  const spread = weights.scalar("spread")
  if (problem.isClasses) {
    return () => null
  }
  return name === "context" ? (y) => contextUnits(y, location, spread) : () => ({shift: location, scale: spread})
}

/** Each dataset in units of its own context, with the prior's location and spread as one more observation. */
function contextUnits(y, location, spread) {
  const count = y.length + 1
  const shift = (y.reduce((sum, value) => sum + value, 0) + location) / count
  const squares = y.reduce((sum, value) => sum + (value - shift) ** 2, 0) + spread ** 2
  return {shift, scale: Math.sqrt(squares / count)}
}

export const toModel = (y, units) => units ? y.map((value) => (value - units.shift) / units.scale) : y

/** The units of targets that inner is applied to next. */
export function after(units, inner) {
  return units ? {shift: units.shift + units.scale * inner.shift, scale: units.scale * inner.scale} : inner
}
