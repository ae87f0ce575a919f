// Compare models with their fixtures. Arguments: where the modules are, then pairs of a model's folder and its fixture.
// Prints, for each pair, the largest difference of each layer and of the log densities.

import {readFileSync} from "node:fs"

const [modules, ...places] = process.argv.slice(2)
const {loadModel, readConfig} = await import(`${modules}/network/loading.js`)
const {Matrix} = await import(`${modules}/numbers/matrix.js`)
const {toModel} = await import(`${modules}/network/units.js`)

const matrix = (rows, columns) => new Matrix(rows.length, columns, Float64Array.from(rows.flat()))

/** The states between the layers, by the names of the fixture. */
function layersOf(model, posterior, queryX) {
  const {memory, units, reading, context: [inputs, targets]} = posterior
  const [y, queries] = [toModel(targets, units), reading.inputs(queryX)]
  const guess = memory.solved?.predict(queries)
  const encoded = model.inputEncoder.forward(queries)
  const tokens = guess ? encoded.map((value, i) => value + model.guessEncoder.forward(guess).data[i]) : encoded
  const states = model.transformer.predict(tokens, memory.layers)
  const found = {
    "encoded inputs": encoded,
    "encoded targets": model.targetEncoder.forward(y),
    "context tokens": model.contextTokens(inputs, y, memory.solved),
    "query tokens": tokens,
    states,
    parameters: {data: model.parameters(states).data},
  }
  memory.layers.forEach(({keys, values}, i) => Object.assign(found, {[`keys ${i}`]: keys, [`values ${i}`]: values}))
  if (guess) {
    found["left out"] = memory.solved.leaveOneOut(y.length).features
    found.guess = guess.features
  }
  return found
}

function largest(expected, found) {
  if (expected.length !== found.length) {
    return Infinity
  }
  return expected.reduce((most, value, i) => Math.max(most, Math.abs(value - found[i]) / Math.max(1, Math.abs(value))), 0)
}

/** How far the densities of latents are from those of the fixture, and whether known ones have none. */
function latentDifferences(laws, known, expected) {
  const found = {}
  for (const {name, index, values, log_prob: logProb, cdf = null} of expected) {
    const law = laws[name][index]
    found[`latent ${name} ${index}`] = largest(logProb, values.map((value) => law.logProb(value)))
    if (cdf) {
      found[`cdf of ${name} ${index}`] = largest(cdf, values.map((value) => law.cdf(value)))
      found[`levels of ${name} ${index}`] = largest(cdf, cdf.map((level) => law.cdf(law.icdf(level))))
    }
  }
  const isMasked = Object.keys(laws).every((name) => (name in known) === (laws[name] === null))
  return {...found, ...(isMasked ? {} : {"known latents": Infinity})}
}

function compared(folder, fixture) {
  const config = readConfig(readFileSync(`${folder}/config.json`, "utf8"))
  const {sha256, cases} = JSON.parse(readFileSync(fixture, "utf8"))
  if (config.files["model.safetensors"].sha256 !== sha256) {
    return {stale: `the fixture was written for weights of sha256 ${sha256}`}
  }
  const model = loadModel(config, new Uint8Array(readFileSync(`${folder}/model.safetensors`)))
  const worst = {}
  for (const {x, y, query_x: queryX, query_y: queryY, columns, log_prob: logProb, moments, layers, known, latents} of cases) {
    const posterior = model.condition(matrix(x, columns), Float64Array.from(y), known)
    const ppd = posterior.predict(matrix(queryX, columns))
    const differences = {"log_prob": largest(logProb, queryY.map((value, i) => ppd.logProb(i, value)))}
    if (moments.cdf) {
      differences.cdf = largest(moments.cdf, queryY.map((value, i) => ppd.cdf(i, value)))
      differences.quantiles = largest(queryY, moments.cdf.map((level, i) => ppd.icdf(i, level)))
      differences.cdfs = largest(moments.cdf, queryY.map((value, i) => ppd.cdfs(i, value, 1, 2)[0]))
      differences.mean = largest(moments.mean, moments.mean.map((_, i) => ppd.mean(i)))
      differences.stddev = largest(moments.stddev, moments.stddev.map((_, i) => ppd.stddev(i)))
    }
    Object.assign(differences, latentDifferences(posterior.latents(), known, latents))
    if (Object.keys(layers).length > 0) {
      const found = layersOf(model, posterior, matrix(queryX, columns))
      for (const [name, values] of Object.entries(layers)) {
        differences[name] = largest(values, found[name].data)
      }
    }
    for (const [name, value] of Object.entries(differences)) {
      worst[name] = Math.max(worst[name] ?? 0, value)
    }
  }
  return worst
}

const results = []
for (let i = 0; i < places.length; i += 2) {
  results.push(compared(places[i], places[i + 1]))
}
console.log(JSON.stringify(results, (key, value) => value === Infinity || Number.isNaN(value) ? "not a number" : value))
