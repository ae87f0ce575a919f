// The reference of a prior by its description: an exact predictor, a slow oracle, or null.

import {exactGP, exactLinear, KERNELS} from "./gaussian_process.js"
import {HyperGPOracle} from "./hyper_gp_oracle.js"
import {ExactMixture} from "./mixture.js"

/** The exact predictor of a prior, or null where no closed form is known. */
export function exactOrNull(prior) {
  switch (prior?.type) {
    case "GaussianProcess": return (prior.kernel ?? "rbf") in KERNELS ? exactGP(prior) : null
    case "LinearRegression": return exactLinear(prior)
    case "Mixture": return exactMixture(prior)
    default: return null
  }
}

function exactMixture({priors, weights}) {
  const parts = priors.map((each) => each.type === "Mixture" ? null : exactOrNull(each))
  const inputs = new Set(priors.map(({inputs}) => JSON.stringify(inputs)))
  return parts.includes(null) || inputs.size > 1 ? null : new ExactMixture(parts, weights)
}

/** What a network of this prior is compared with. */
export function referenceOf(prior) {
  if (prior?.type === "HyperGaussianProcess" && (prior.kernel ?? "matern52") in KERNELS) {
    return {name: "oracle (importance sampling)", oracle: new HyperGPOracle(prior), predictor: null}
  }
  const predictor = exactOrNull(prior)
  return predictor && {name: "exact posterior", oracle: null, predictor}
}
