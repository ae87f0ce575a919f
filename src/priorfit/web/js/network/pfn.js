// The Prior-Data Fitted Network: context and queries in, predictive distributions out; one dataset at a time.

import {add, linear, Matrix} from "../numbers/matrix.js"
import {POSITIONS} from "./attention/positions.js"
import {Transformer} from "./attention/transformer.js"
import {ENCODERS} from "./encoders/inputs.js"
import {targetEncoder} from "./encoders/targets.js"
import {HEADS} from "./heads/defaults.js"
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
    weights.skip("latent_parts") // points whose latents are unknown are predicted without them
    weights.finish()
  }

  /** What answers to queries need of a context; x is a matrix of the user's columns, y an array of numbers. */
  condition(x, y) {
    const reading = new Reading(x, y, this.problem)
    const [inputs, targets] = [reading.inputs(x), reading.targets(y)]
    const units = this.scaling(targets)
    return new Posterior(this, this.encoded(inputs, toModel(targets, units)), reading, units, [inputs, targets])
  }

  /** What is kept of a context whose y are in the network's units. */
  encoded(x, y) {
    const solved = this.solver?.condition(x, y) ?? null
    return {solved, layers: this.transformer.condition(this.contextTokens(x, y, solved))}
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

  /** Sentences about the context where it is unlike all that training showed. */
  remarks() {
    return remarksOn(...this.context, this.model.problem, this.model.card)
  }
}
