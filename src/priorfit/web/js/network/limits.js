// Remarks: what a model is asked about, beside what its training showed. The sentences are those of limits.py.

const FARTHEST = 6 // standard deviations from the mean of normal inputs: of 10^8 draws none lies farther
const TARGET_SLACK = 0.5 // share of the trained range of targets that is added on either side

const short = (value) => String(Number(value.toPrecision(3)))

/** The interval that holds all inputs of training, in the model's units; null where it is not known. */
export function inputLimits(problem) {
  if (problem.input_range) {
    return problem.input_range
  }
  if (!problem.columns || problem.columns.range) {
    return null
  }
  const most = problem.num_features / problem.fewest_features // padding multiplies what is left
  const reach = most * (Math.abs(problem.columns.mean) + FARTHEST * problem.columns.scale)
  return [-reach, reach]
}

/** Remarks about a context in the model's units. */
export function remarksOn(inputs, targets, problem, card) {
  return [
    ...ofSize(targets.length, card.trained_context),
    ...ofInputs(inputs, problem),
    ...(targets.length === 0 ? ofNoUnits(problem) : problem.isClasses ? ofRareClass(targets, problem) : ofTargets(targets, problem)),
  ]
}

function* ofNoUnits(problem) {
  if (problem.units === "free") {
    yield "The units of columns and targets are taken from the points, and there are none: this is the prior's answer "
      + "in standard units (mean 0, standard deviation 1). Set at least two points."
  }
}

function* ofSize(count, trained) {
  if (trained && (count < trained[0] || count > trained[1])) {
    yield `This model was trained on contexts of ${trained[0]} to ${trained[1]} points and is asked about ${count}; its `
      + "answer may be wrong."
  }
}

function* ofInputs(inputs, problem) {
  const limits = inputLimits(problem)
  if (!limits || inputs.data.length === 0) {
    return
  }
  const [smallest, largest] = extremes(inputs.data)
  if (smallest < limits[0] || largest > limits[1]) {
    const remedy = problem.units === "free" ? " These are in units of the columns: look for outliers." : ""
    yield `This model was trained on inputs in [${limits.map(short).join(", ")}] and is given `
      + `[${short(smallest)}, ${short(largest)}]; its answer may be wrong.${remedy}`
  }
}

function* ofTargets(y, problem) {
  if (problem.units === "free" && y.every((value) => value === y[0])) {
    yield `The units of y are taken from the points, whose ${y.length} target(s) are all equal: how far others may lie `
      + "from them is not known. Set targets that differ."
  }
  if (!problem.target_range) {
    return
  }
  const [low, high] = problem.target_range
  const slack = TARGET_SLACK * (high - low)
  const [smallest, largest] = extremes(y)
  if (smallest < low - slack || largest > high + slack) {
    yield `This model was trained on targets in [${short(low)}, ${short(high)}] and is given [${short(smallest)}, `
      + `${short(largest)}]; its answer may be wrong.`
  }
}

function* ofRareClass(y, {outcome, rarest_share: rarest}) {
  if (!rarest) {
    return
  }
  const counts = Array(outcome.count).fill(0)
  y.forEach((label) => { counts[label] += 1 })
  const share = Math.min(...counts) / y.length
  if (share + 3 * Math.sqrt(rarest * (1 - rarest) / y.length) < rarest) {
    yield `This model was trained on datasets whose rarest class has a share of ${Math.round(100 * rarest)}% or more and `
      + `is given one of ${short(100 * share)}%; its probabilities lean towards balance and are wrong.`
  }
}

export function extremes(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity])
}
