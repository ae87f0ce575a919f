// Names that earlier versions of the library wrote into files, as they are now.

import {PriorfitError} from "../errors.js"

const NETWORK_FIELDS = {heads: "attention_heads", head: "output", regression: "solver"}
const DROPPED_FIELDS = {query_attention: "sink", qk_norm: false, query_scale: "fixed", loops: 1}
const SOLVER_FIELDS = {heads: "components", evidence: "evidence_weight", places: "anchors", adapted: "nodes"}
const SOLVER_TYPES = {Regression: "LinearSolver", LatentRegression: "LatentSolver"}
const WEIGHTS = [ // beginnings of the names of weights, the longest first
  ["regression.told.", "guess_encoder.linear."],
  ["regression.encoder.", "solver.features.encoder."],
  ["regression.features.", "solver.features.output."],
  ["regression.slow_log_gain", "solver.features.slow_log_gain"],
  ["regression.places", "solver.anchors"],
  ["regression.", "solver."],
  ["head.inner.", "head."],
]

export function presentSettings(description) {
  if ((description.type ?? "NetworkSettings") !== "NetworkSettings") {
    return description
  }
  const kept = {}
  for (const [name, value] of Object.entries(description)) {
    if (!(name in DROPPED_FIELDS)) {
      kept[NETWORK_FIELDS[name] ?? name] = value
    } else if (value !== DROPPED_FIELDS[name]) {
      throw new PriorfitError(`The page cannot run this model: it has ${name}=${value}, a setting that is gone.`)
    }
  }
  if (kept.solver?.type in SOLVER_TYPES) {
    kept.solver = {...renamed(kept.solver, SOLVER_FIELDS), type: SOLVER_TYPES[kept.solver.type]}
  }
  return kept
}

/** The description of a model's problem; the oldest files have a shorter one, which only Python can complete. */
export function presentProblem(config) {
  if (!config.problem) {
    throw new PriorfitError("config.json describes no problem: an early version wrote it. Load and save the model in Python.")
  }
  return config.problem
}

export function presentWeights(tensors) {
  return renamed(tensors, {}, (name) => {
    const [start, now] = WEIGHTS.find(([old]) => name.startsWith(old)) ?? ["", ""]
    return now + name.slice(start.length)
  })
}

function renamed(fields, names, rename = (name) => names[name] ?? name) {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [rename(name), value]))
}
