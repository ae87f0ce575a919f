// The Prior-Data Fitted Network: context and queries in, predictive distributions out; one dataset at a time.

import {PriorfitError} from "../errors.js"
import {add, linear, Matrix} from "../numbers/matrix.js"
import {joined} from "./attention/attention.js"
import {POSITIONS} from "./attention/positions.js"
import {Transformer} from "./attention/transformer.js"
import {ENCODERS} from "./encoders/inputs.js"
import {targetEncoder} from "./encoders/targets.js"
import {HEADS} from "./heads/defaults.js"
import {LatentParts} from "./latents/parts.js"
import {latentPosterior} from "./latents/posterior.js"
import {remarksOn} from "./limits.js"
import {Reading} from "./reading.js"
import {SOLVERS} from "./solver/settings.js"
import {GuessEncoder} from "./solver/tokens.js"
import {scalingFor, toModel} from "./units.js"

export class Pfn {
  constructor(settings, problem, card, weights) {
    const {width, encoder, output} = settings
    Object.assign(this, {settings, problem, card})
    this.inputEncoder = new ENCODERS[encoder.type](
      weights.under("input_encoder"), encoder, problem.num_features, width, problem.input_range)
    this.targetEncoder = targetEncoder(weights.under("target_encoder"), problem.outcome, width)
    this.positions = POSITIONS[settings.positions]
    this.transformer = new Transformer(weights.under("transformer"), settings)
    this.scaling = scalingFor(weights.under("scaling"), problem, settings.target_scaling)
    this.solver = null
    if (settings.solver) {
      this.solver = SOLVERS[settings.solver.type](weights.under("solver"), settings.solver, problem, encoder)
      this.guessEncoder = new GuessEncoder(weights.under("guess_encoder"), this.solver.numNumbers, width)
    }
    this.head = new HEADS[output.type](weights.under("head"), output, problem.outcome)
    this.decoder = weights.linear("decoder", width, this.head.numParameters)
    const guessed = this.solver?.guessesLatents ? this.solver.numNumbers : 0
    this.latentParts = problem.latents.length > 0 && settings.layers > 0
      ? new LatentParts(weights.under("latent_parts"), problem.latents, width, guessed) : null
    weights.finish()
  }

  /** The latents that can be known and asked about; a network without layers has none. */
  get latents() {
    return this.latentParts?.spaces ?? []
  }

  /**
   * What answers to queries need of a context; x is a matrix of the user's columns, y an array of numbers, known an object
   * of arrays by the names of latents.
   */
  condition(x, y, known = {}) {
    const reading = new Reading(x, y, this.problem)
    const [inputs, targets] = [reading.inputs(x), reading.targets(y)]
    const units = this.scaling(targets)
    const memory = this.shown(this.encoded(inputs, toModel(targets, units)), known)
    return new Posterior(this, memory, reading, units, [inputs, targets])
  }

  /** What is kept of a context whose y are in the network's units. */
  encoded(x, y) {
    const solved = this.solver?.condition(x, y) ?? null
    return {solved, layers: this.transformer.condition(this.contextTokens(x, y, solved)), known: []}
  }

  /** The memory of a context together with known latents, which the context does not see. */
  shown({solved, layers}, known) {
    const parts = this.latentParts
    const unknown = Object.keys(known).find((name) => !this.latents.some((space) => space.name === name))
    if (unknown !== undefined) {
      const names = this.latents.map(({name}) => name).join(", ") || "none"
      throw new PriorfitError(`There is no latent ${unknown}; the latents of this model are ${names}.`)
    }
    const numbers = parts?.indices(Object.keys(known)) ?? []
    if (numbers.length === 0) {
      return {solved, layers, known: numbers}
    }
    this.latents.forEach((space) => space.name in known && space.check(known[space.name]))
    const coordinates = parts.encoded(known)
    const offered = this.transformer.offered(parts.knownTokens(coordinates, numbers), layers)
    const told = solved?.given?.(numbers, coordinates) ?? solved // a family without latents stays
    return {solved: told, layers: layers.map((own, i) => joined(own, offered[i])), known: numbers}
  }

  contextTokens(x, y, solved) {
    if (!this.settings.layers) { // nobody would read them
      return new Matrix(0, this.settings.width)
    }
    const tokens = this.positions(add(this.inputEncoder.forward(x), this.targetEncoder.forward(y)))
    return solved ? add(tokens, this.guessEncoder.labelled(solved.leaveOneOut(y.length), y)) : tokens
  }

  /** The predictive of each query, in the network's units. */
  answer(x, {solved, layers}) {
    const guess = solved?.predict(x) ?? null
    const tokens = this.inputEncoder.forward(x)
    const states = this.transformer.predict(guess ? add(tokens, this.guessEncoder.forward(guess)) : tokens, layers)
    return this.head.forward(this.parameters(states), guess?.ppd)
  }

  /** The numbers that the head turns into a distribution. */
  parameters(states) {
    return linear(states, this.decoder)
  }
}

class Posterior {
  constructor(model, memory, reading, units, context) {
    Object.assign(this, {model, memory, reading, units, context})
  }

  /** The posterior predictive of each query, in the units of the context. */
  predict(x) {
    return this.reading.toUser(this.model.answer(this.reading.inputs(x), this.memory), this.units)
  }

  /** p(latent | context) of each number of each latent, by name; null where it is known. */
  latents() {
    return latentPosterior(this.model, this.memory)
  }

  /** Sentences about the context where it is unlike all that training showed. */
  remarks() {
    return remarksOn(...this.context, this.model.problem, this.model.card)
  }
}
