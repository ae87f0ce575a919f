// The settings of a network with what fits the problem where they say nothing, or a sentence on what the page lacks.

import {PriorfitError} from "../errors.js"
import {POSITIONS} from "./attention/positions.js"
import {ENCODERS} from "./encoders/inputs.js"
import {defaultOutput, HEADS} from "./heads/defaults.js"
import {SOLVERS} from "./solver/settings.js"

const MOST_FOURIER_FEATURES = 8
const DEFAULTS = {
  width: 64, layers: 6, attention_heads: 4, feedforward: 128, encoder: null, output: null, target_scaling: "prior",
  positions: "none", solver: null,
}

/** Why the page has no such network, by the type of its settings. */
const OTHER_NETWORKS = {
  TableSettings: "it is a network for tables, whose columns attend to each other: the page has no table to fill in",
  NeuralProcessSettings: "it is an attentive neural process, a baseline whose layers the page does not have",
}

export function settingsOf(description, problem) {
  const type = description.type ?? "NetworkSettings"
  if (type !== "NetworkSettings") {
    throw new PriorfitError(`The page cannot run this model: ${OTHER_NETWORKS[type] ?? `it knows no network of type ${type}`}.`)
  }
  for (const name of Object.keys(description)) {
    if (name !== "type" && !(name in DEFAULTS)) {
      throw new PriorfitError(`The page cannot run this model: it knows no setting ${name} of a network. Export it anew.`)
    }
  }
  const settings = {...DEFAULTS, ...description}
  settings.encoder ??= defaultEncoder(problem)
  settings.output = outputFor(settings, problem)
  known("encoder of inputs", settings.encoder.type, ENCODERS)
  known("head", settings.output.type, HEADS)
  known("kind of positions", settings.positions, POSITIONS)
  if (settings.solver) {
    known("solver", settings.solver.type, SOLVERS)
  }
  return settings
}

function defaultEncoder({input_range: range, num_features: count}) {
  return {type: range && count <= MOST_FOURIER_FEATURES ? "FourierEncoder" : "LinearEncoder"}
}

function outputFor({solver, output}, {outcome}) {
  if (solver?.type === "LatentSolver") {
    return {type: "CorrectedMixtureHead", components: solver.nodes ?? 7}
  }
  return output ?? (solver?.type === "CellSolver" && outcome.type !== "Classes" ? {type: "AdjustedGuessHead"} : defaultOutput(outcome))
}

function known(what, name, table) {
  if (!Object.hasOwn(table, name)) {
    throw new PriorfitError(`The page cannot run this model: it knows no ${what} of type ${name}.`)
  }
}
