// The latents of a model: the posterior of each number beside its prior, and a slider below that makes it known.

import {clamp} from "../numbers/special.js"

const FINE = 1000 // steps of a slider
const END = 0.002 // share of the axis that a slider keeps from its ends: a coordinate there would be infinite
const NUM_VALUES = 160
const REACH = 2.7 // coordinates that an axis without bounds shows, on either side
const MARGIN = 8 // pixels beside the axis: half of a slider's thumb, so that both have the same scale

const short = (value) => String(Number(value.toPrecision(3))).replace("-", "−")

/** The axis of one number: shares of its width in, values out. Values above or below a bound are on a logarithmic axis. */
class Axis {
  constructor(space, index) {
    Object.assign(this, {space, index})
    const ends = space.kind === "bounded" ? [-Infinity, Infinity] : [-REACH, REACH]
    this.ends = space.isClasses ? [0, space.count - 1] : ends.map((u) => space.value(u, index))
    this.isLogarithmic = space.kind === "above" || space.kind === "below"
  }

  value(share) {
    const {space, index, ends: [low, high]} = this
    if (this.isLogarithmic) {
      return space.value(-REACH + 2 * REACH * share, index)
    }
    return space.isClasses ? Math.round(low + share * (high - low)) : low + share * (high - low)
  }

  share(value) {
    const {space, index, ends: [low, high]} = this
    if (this.isLogarithmic) {
      return (space.coordinate(value, index) + REACH) / (2 * REACH)
    }
    return high > low ? (value - low) / (high - low) : 0.5
  }

  /** The density of a law with respect to the axis, in the middles of its cells. */
  densities(law) {
    const edges = Array.from({length: NUM_VALUES + 1}, (_, k) => {
      const below = law.cdf(this.value(k / NUM_VALUES))
      return Number.isFinite(below) ? below : k / NUM_VALUES
    })
    return Array.from({length: NUM_VALUES}, (_, k) => Math.abs(edges[k + 1] - edges[k]) * NUM_VALUES)
  }
}

const probabilities = (law, count) => Array.from({length: count}, (_, label) => Math.exp(law.logProb(label)))

/** One number of a latent on the page. */
class Card {
  constructor(space, index, prior, change) {
    Object.assign(this, {space, index, prior, axis: new Axis(space, index)})
    this.title = space.size > 1 ? `${space.name} ${index + 1}` : space.name
    const make = (tag, fields = {}) => Object.assign(document.createElement(tag), fields)
    this.element = make("div", {className: "latent"})
    this.words = make("output")
    this.known = make("input", {type: "checkbox"})
    this.slider = make("input", {type: "range", min: 0, max: space.isClasses ? space.count - 1 : FINE, step: 1})
    this.slider.setAttribute("aria-label", this.title)
    this.canvas = make("canvas")
    this.canvas.setAttribute("role", "img")
    const [head, ends, label] = [make("div", {className: "head"}), make("div", {className: "ends"}), make("label")]
    label.append(this.known, ` ${this.title} known`)
    const name = make("b", {textContent: this.title})
    head.append(name, this.words)
    ends.append(...this.axis.ends.map((end) => make("span", {textContent: short(end)})))
    if (this.axis.isLogarithmic) {
      ends.children[0].after(make("span", {textContent: "log scale"}))
    }
    this.element.append(head, this.canvas, this.slider, ends, label)
    this.slider.addEventListener("input", () => change(this._chosen()))
    this.known.addEventListener("change", () => change(this.known.checked ? this._chosen() : null))
  }

  _chosen() {
    return this.space.isClasses ? Number(this.slider.value) : this.axis.value(clamp(this.slider.value / FINE, END, 1 - END))
  }

  /** Show the answer to new points: a law, or the value that is known. */
  show(law, value, colours) {
    this.law = law
    this.value = value
    this.known.checked = law === null
    const centre = law === null ? value : this._centre(law)
    this.slider.value = this.space.isClasses ? centre : Math.round(FINE * clamp(this.axis.share(centre), 0, 1))
    this.slider.setAttribute("aria-valuetext", law === null ? `known: ${short(value)}` : `not known; most likely about ${short(centre)}`)
    this.words.textContent = this._inWords(law, value, centre)
    this.canvas.setAttribute("aria-label", `${this.title}: ${law === null ? "" : "posterior "}${this.words.textContent}`)
    this.draw(colours)
  }

  _centre(law) {
    if (!this.space.isClasses) {
      return law.icdf(0.5)
    }
    const probs = probabilities(law, this.space.count)
    return probs.indexOf(Math.max(...probs))
  }

  _inWords(law, value, centre) {
    if (law === null) {
      return `= ${short(value)}`
    }
    if (this.space.isClasses) {
      return `${centre}: ${Math.round(100 * Math.exp(law.logProb(centre)))} %`
    }
    const [one, other] = [0.025, 0.975].map((level) => law.icdf(level))
    return `${short(centre)} [${short(one)}, ${short(other)}]`
  }

  draw(colours) {
    const {clientWidth: width, clientHeight: height} = this.canvas
    const sharp = globalThis.devicePixelRatio || 1
    Object.assign(this.canvas, {width: Math.round(width * sharp), height: Math.round(height * sharp)})
    const context = this.canvas.getContext("2d")
    context.setTransform(sharp, 0, 0, sharp, 0, 0)
    const place = (share) => MARGIN + share * (width - 2 * MARGIN)
    if (this.space.isClasses) {
      this._bars(context, {height, place, colours})
    } else {
      this._densities(context, {height, place, colours})
    }
    context.fillStyle = colours.grid
    context.fillRect(place(0), height - 1, place(1) - place(0), 1)
    if (this.law === null) {
      const at = place(this.axis.share(this.value))
      context.fillStyle = colours.selected
      context.fillRect(at - 1.5, 0, 3, height)
    }
  }

  _densities(context, {height, place, colours}) {
    this.priorDensities ??= this.axis.densities(this.prior)
    this.shown = this.law && this.axis.densities(this.law)
    const top = 1.06 * Math.max(...this.priorDensities, ...(this.shown ?? [0]))
    const path = (densities) => densities.forEach((value, k) =>
      context.lineTo(place((k + 0.5) / densities.length), height - value / top * (height - 2)))
    if (this.shown) {
      context.beginPath()
      context.moveTo(place(0), height)
      path(this.shown)
      context.lineTo(place(1), height)
      Object.assign(context, {fillStyle: colours.heat, strokeStyle: colours.network, globalAlpha: 0.6, lineWidth: 2})
      context.fill()
      context.globalAlpha = 1
      context.beginPath()
      path(this.shown)
      context.stroke()
    }
    context.beginPath()
    path(this.priorDensities)
    Object.assign(context, {strokeStyle: colours.quiet, lineWidth: 1.5})
    context.setLineDash([2, 3])
    context.stroke()
    context.setLineDash([])
  }

  _bars(context, {height, place, colours}) {
    const {count} = this.space
    this.priorDensities ??= probabilities(this.prior, count)
    this.shown = this.law && probabilities(this.law, count)
    const wide = 0.7 * (place(1) - place(0)) / Math.max(count, 2)
    for (let label = 0; label < count; label++) {
      const middle = clamp(place(this.axis.share(label)), place(0) + wide / 2, place(1) - wide / 2)
      const high = (this.shown?.[label] ?? 0) * (height - 2)
      context.fillStyle = colours.network
      context.fillRect(middle - wide / 2, height - high, wide, high)
      const prior = height - this.priorDensities[label] * (height - 2)
      context.fillStyle = colours.quiet
      context.fillRect(middle - wide / 2 - 2, prior - 1, wide + 4, 2)
    }
  }
}

export class LatentPanel {
  /** Change gets the name of a latent and its numbers, or null where it is to be unknown again. */
  constructor(section, list, change) {
    Object.assign(this, {section, list, change, cards: []})
  }

  ofSubject({model, latentPriors}) {
    this.cards = model.latents.flatMap((space) => Array.from({length: space.size}, (_, index) =>
      new Card(space, index, latentPriors[space.name][index], (value) => this._set(space, index, value))))
    this.list.replaceChildren(...this.cards.map(({element}) => element))
    this.section.hidden = this.cards.length === 0
  }

  /** A number of a vector becomes known together with the others, at what these show. */
  _set(space, index, value) {
    const own = this.cards.filter((card) => card.space === space)
    this.change(space.name, value === null ? null : own.map((card, i) => i === index ? value : card.law === null ? card.value : card._chosen()))
  }

  show(laws, known, colours) {
    for (const card of this.cards) {
      const {space: {name}, index} = card
      card.show(laws[name] && laws[name][index], known[name]?.[index] ?? null, colours)
    }
  }

  draw(colours) {
    this.cards.forEach((card) => card.draw(colours))
  }
}
