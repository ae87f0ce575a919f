// Heads by the names of their settings, and the one that a network has where its settings name none.

import {SigmoidHead, SoftmaxHead, TemperedHead} from "./classes.js"
import {AdjustedGuessHead} from "./guess.js"
import {CorrectedMixtureHead, NormalHead, NormalMixtureHead} from "./mixture.js"
import {RiemannHead} from "./riemann.js"

export const HEADS = {
  NormalHead, NormalMixtureHead, CorrectedMixtureHead, AdjustedGuessHead, RiemannHead, SoftmaxHead, TemperedHead, SigmoidHead
}

export function defaultOutput(outcome) {
  return {type: outcome.type !== "Classes" ? "NormalMixtureHead" : outcome.count === 2 ? "SigmoidHead" : "SoftmaxHead"}
}
