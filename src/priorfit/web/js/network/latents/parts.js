// The modules for latents: a token for each number of a latent, known or asked about, and the density of an answer.

import {Categorical} from "../../distributions/categorical.js"
import {PriorfitError} from "../../errors.js"
import {add, linear, Matrix} from "../../numbers/matrix.js"
import {AdjustedGuessHead} from "../heads/guess.js"
import {NormalMixtureHead} from "../heads/mixture.js"
import {GuessEncoder} from "../solver/tokens.js"
import {LatentClasses, LatentDensity} from "./densities.js"

const COMPONENTS = 10
const FREQUENCIES = 8
const FEATURES = 2 * FREQUENCIES + 1
const MOST_NUMBERS = 1000

export class LatentParts {
  /** Where a solver knows the latents, guessed numbers tell a token of its guess, which the density then corrects. */
  constructor(weights, spaces, width, guessed) {
    this.spaces = spaces
    const count = spaces.reduce((sum, {size}) => sum + size, 0)
    if (!(count <= MOST_NUMBERS)) {
      throw new PriorfitError(`The latents of this model have ${count} numbers; the page takes at most ${MOST_NUMBERS}.`)
    }
    /** The latent and the place within it of each number. */
    this.places = spaces.flatMap((space) => Array.from({length: space.size}, (_, index) => ({space, index})))
    this.width = width
    this.labelCount = Math.max(1, ...spaces.map((space) => space.count))
    this.frequencies = weights.vector("frequencies", FREQUENCIES)
    this.asked = weights.matrix("asked", count, width)
    this.identity = weights.matrix("identity", count, width)
    this.values = weights.vector("values", count, FEATURES, width)
    this.labels = weights.vector("labels", count, this.labelCount, width)
    this.head = new (guessed ? AdjustedGuessHead : NormalMixtureHead)(null, {components: COMPONENTS})
    this.guessEncoder = guessed ? new GuessEncoder(weights.under("guess_encoder"), guessed, width) : null
    this.density = weights.linear("density", width, this.head.numParameters)
    this.logits = weights.linear("logits", width, this.labelCount)
  }

  /** The numbers of some latents, in the order in which these were named. */
  indices(names) {
    return this.places.flatMap(({space}, number) => names.includes(space.name) ? [number] : [])
  }

  /** Coordinates, or labels, of known latents, in the order of their numbers; rounded to float32 as in Python. */
  encoded(known) {
    return this.indices(Object.keys(known)).map((number) => {
      const {space, index} = this.places[number]
      return Math.fround(space.coordinate(known[space.name][index], index))
    })
  }

  /** Tokens that ask about some numbers; a solver's guess of them is told. */
  askedTokens(numbers, guess) {
    const tokens = new Matrix(numbers.length, this.width)
    numbers.forEach((number, i) => tokens.row(i).set(this.asked.row(number)))
    return guess ? add(tokens, this.guessEncoder.forward(guess)) : tokens
  }

  /** The token of each known number: a linear map of sines and cosines of its coordinate, or that of its label. */
  knownTokens(coordinates, numbers) {
    const tokens = new Matrix(numbers.length, this.width)
    numbers.forEach((number, i) => {
      const token = tokens.row(i)
      token.set(this.identity.row(number))
      if (this.places[number].space.isClasses) {
        this._add(token, this.labels, number * this.labelCount + coordinates[i], 1)
      } else {
        this._features(coordinates[i]).forEach((value, f) => this._add(token, this.values, number * FEATURES + f, value))
      }
    })
    return tokens
  }

  _features(coordinate) {
    const angles = [...this.frequencies].map((frequency) => coordinate * frequency)
    return [coordinate, ...angles.map(Math.sin), ...angles.map(Math.cos)]
  }

  _add(token, table, row, factor) {
    for (let k = 0; k < this.width; k++) {
      token[k] += factor * table[row * this.width + k]
    }
  }

  /** The density of each number, one state a row. */
  laws(states, numbers, guess) {
    const mixtures = this.head.forward(linear(states, this.density), guess?.ppd)
    const logits = linear(states, this.logits)
    return numbers.map((number, i) => {
      const {space, index} = this.places[number]
      return space.isClasses
        ? new LatentClasses(new Categorical(space.count, logits.row(i).slice(0, space.count)), 0)
        : new LatentDensity(mixtures, i, space, index)
    })
  }
}
