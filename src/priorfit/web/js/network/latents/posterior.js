// The posterior of the latents that a conditioned network gives: a density for each number that is not known.

/** {name: one density a number, or null where the latent is known}; an empty object without latents. */
export function latentPosterior({latentParts: parts, transformer}, {solved, layers, known}) {
  if (!parts) {
    return {}
  }
  const asked = parts.places.map((_, number) => number).filter((number) => !known.includes(number))
  const guess = asked.length > 0 && solved?.latentGuess?.(asked) || null
  const laws = asked.length === 0 ? [] : parts.laws(transformer.predict(parts.askedTokens(asked, guess), layers), asked, guess)
  return Object.fromEntries(parts.spaces.map(({name}) => {
    const own = asked.flatMap((number, i) => parts.places[number].space.name === name ? [laws[i]] : [])
    return [name, own.length ? own : null]
  }))
}
