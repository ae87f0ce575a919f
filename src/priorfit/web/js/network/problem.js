// What a network is for: the shape of its inputs, the kind and the units of its targets, and what training showed.

import {LatentSpace} from "./latent_spaces.js"

const DEFAULTS = {
  input_range: null, min_features: null, units: "fixed", columns: null, target_range: null, rarest_share: null,
  missing: false, min_classes: null, latents: [],
}

export function problemOf(description) {
  const problem = {...DEFAULTS, ...description}
  problem.columns &&= {range: null, mean: 0, scale: 1, ...problem.columns}
  problem.fewest_features = problem.min_features ?? problem.num_features
  problem.latents = problem.latents.map((each) => new LatentSpace(each))
  problem.isClasses = problem.outcome.type === "Classes"
  return problem
}

/** How many columns the network takes, in words. */
export function takes({fewest_features: fewest, num_features: most}) {
  return fewest < most ? `${fewest} to ${most} columns` : `${most} column${most > 1 ? "s" : ""}`
}
