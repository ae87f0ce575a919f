// The open page: what happens when something is clicked, dragged or chosen.

import {PriorfitError} from "../errors.js"
import {hasSurprise} from "./answer.js"
import {coloursOf} from "./colours.js"
import {CurvesView} from "./curves_view.js"
import {drawFunctions, example} from "./functions.js"
import {MapView} from "./map_view.js"
import {contextOf, MOST_POINTS} from "./points.js"
import {Newest} from "./work.js"

const FIRST_CURSOR = [0.35, 0.5] // as shares of the window

export class Page {
  /**
   * The plots are those of the picture and of the cut; words shows text, latents is the panel of latents, python is whom
   * the page asks for what it cannot know; changed hears of new points or models.
   */
  constructor(plots, {words, latents, python}, changed) {
    Object.assign(this, {plots, words, latents, python, changed})
    this.surprise = ""
    this.known = {}
    this.layers = {density: true, bands: true, exact: true}
    this.points = []
    this.selected = null
    this.newLabel = 0
    this.hasKeys = false
    this.oracle = new Newest()
    this.sampler = new Newest()
    this.judge = new Newest()
    this.numDraws = 0
    this.refreshColours()
  }

  refreshColours() {
    this.colours = coloursOf(document.documentElement)
  }

  /** Choose a model; the points inside of its window stay if it is of the same kind. */
  show(subject, points = null) {
    const isSame = this.subject?.kind === subject.kind
    this.subject = subject
    this.view = subject.kind === "map" ? new MapView(subject, () => this.draw()) : new CurvesView(subject)
    const [share, other] = FIRST_CURSOR
    const at = ([low, high], part) => low + part * (high - low)
    this.cursor = {x: at(subject.xRange, share), y: at(subject.yRange, other)}
    this.newLabel = 0
    this.known = {}
    this.words.ofSubject(subject)
    this.latents.ofSubject(subject)
    this.place(points ?? (isSame ? this.points.filter((point) => subject.isInside(point)) : []))
  }

  /** Put these points on the page; too many are said to be. */
  place(points, selected = null) {
    this.points = points.slice(0, MOST_POINTS)
    this.excess = points.length > MOST_POINTS
      ? `The page takes at most ${MOST_POINTS} points and was given ${points.length}: it shows the first ${MOST_POINTS}.` : null
    this.selected = selected
    this.answer()
  }

  /** Let a latent be known to have these numbers, or unknown again where they are null. */
  know(name, numbers) {
    const before = this.known
    const {[name]: own, ...others} = before
    this.known = numbers === null ? others : {...others, [name]: numbers}
    try {
      this.answer()
    } catch (error) {
      this.known = before
      throw error
    }
    if ((own === undefined) !== (numbers === null)) {
      this.words.announce(`${name} is ${numbers === null ? "not " : ""}known`)
    }
  }

  startFrom(name) {
    this.place(example(this.subject, name, this.known))
    this.words.announce(`${name}, drawn from the model`)
  }

  add({x, y}) {
    if (this.points.length >= MOST_POINTS) {
      this.excess = `The page takes at most ${MOST_POINTS} points. Delete some to set others.`
      this._say()
      return
    }
    const label = this.subject.kind === "map" ? {label: this.newLabel} : {}
    this.place([...this.points, {x, y, ...label}])
    this.words.announce(`point ${this.points.length} added at ${this._where({x, y})}`)
  }

  move(index, {x, y}) {
    this.points = this.points.map((point, i) => i === index ? {...point, x, y} : point)
    this.cursor = {x, y}
    this.answer()
    if (this.hasKeys) {
      this.words.announce(`point ${index + 1} at ${this._where({x, y})}`)
    }
  }

  remove(index) {
    if (index === null) {
      this.words.announce("no point is selected")
      return
    }
    this.place(this.points.filter((_, i) => i !== index))
    this.words.announce(`point ${index + 1} removed, ${this.points.length} left`)
  }

  select(index) {
    this.selected = index
    this.draw()
    this.words.ofSelection(index !== null)
    this.words.announce(index === null ? "no point selected" : `point ${index + 1} at ${this._where(this.points[index])}`)
  }

  /** Set the class of the selected point, or of those to come; false where the model has no such class. */
  label(label) {
    if (this.subject.kind !== "map" || label >= this.subject.problem.outcome.count) {
      return false
    }
    this.newLabel = label
    this.words.ofLabel(label)
    if (this.selected !== null) {
      this.points = this.points.map((point, i) => i === this.selected ? {...point, label} : point)
      this.answer()
    }
    this.words.announce(`class ${label}`)
    return true
  }

  pointTo({x, y}, by = null) {
    this.cursor = {x, y}
    this.draw()
    if (this.subject.reference?.isTold) {
      this._askPython()
    }
    if (by) {
      this.words.announce(this._where({x, y}))
    }
  }

  useKeys(hasKeys) {
    if (hasKeys !== this.hasKeys) {
      this.hasKeys = hasKeys
      this.draw()
    }
  }

  _where({x, y}) {
    const names = this.subject.kind === "map" ? ["x1", "x2"] : ["x", "y"]
    return [x, y].map((value, i) => `${names[i]} = ${Number(value.toPrecision(3))}`).join(", ")
  }

  /** Condition the network on the points, and show everything that depends on its answer. */
  answer() {
    const start = performance.now()
    this.sampler.drop()
    this.judge.drop()
    this.posterior = this.subject.model.condition(...contextOf(this.points, this.subject.kind), this.known)
    this.view.take(this.posterior)
    this.latents.show(this.posterior.latents(), this.known, this.colours)
    this.times = {network: performance.now() - start}
    this.isSurprising = false
    this.error = null
    this.surprise = ""
    this._askReference()
    this._askPython()
    this.draw()
    this.times.all = performance.now() - start
    this._say()
    this._judge()
    this.words.ofSelection(this.selected !== null)
    this.changed()
  }

  get hasKnown() {
    return Object.keys(this.known).length > 0
  }

  _askReference() {
    this.oracle.drop()
    const {reference, kind} = this.subject
    if (this.hasKnown) { // references integrate all latents out
      return
    }
    const context = contextOf(this.points, kind)
    if (reference?.predictor) {
      const start = performance.now()
      this.view.takeReference(reference.predictor.condition(...context))
      this.times.reference = performance.now() - start
    } else if (reference?.oracle) {
      this.oracle.start(reference.oracle.condition(...context), () => {}, (posterior) => {
        this.view.takeReference(posterior)
        this.draw()
        this._say()
      })
    }
  }

  _askPython() {
    const {points, known, cursor, subject: {name, asked, queries, yRange}} = this
    if (!asked) {
      return
    }
    const column = (field) => points.map((point) => point[field])
    const question = {
      model: name, known, x: column("x"), y: column("y"), queries: [...queries.data], values: yRange, cursor: [cursor.x],
    }
    this.python.ask(question, ({surprise, reference, error}) => {
      this.surprise = surprise
      this.error ??= error
      if (reference) {
        this.view.takeReference(reference)
        this.draw()
      }
      this._say()
    })
  }

  /** Look for points that the prior would hardly ever draw, when there is time. */
  _judge() {
    const {points, hasKnown, subject: {reference}} = this
    const look = function* () {
      yield
      return !hasKnown && hasSurprise(reference?.predictor, points)
    }
    this.judge.start(look(), () => {}, (found) => {
      this.isSurprising = found
      this._say()
    })
  }

  draw() {
    this.view.draw(this.plots.picture, this)
    this.view.drawCut(this.plots.cut, this)
  }

  /** Draw everything anew, for another size or other colours. */
  redraw() {
    this.draw()
    this.latents.draw(this.colours)
  }

  showLayers(layers) {
    this.layers = layers
    this.draw()
  }

  drawFunctions(count) {
    this.numDraws += 1
    const finish = () => this._say()
    const draws = drawFunctions(this.subject, this, count, this.numDraws)
    const guarded = function* (page) {
      try {
        yield* draws
      } catch (error) {
        page.refuse(error)
      }
    }
    this.sampler.start(guarded(this), (functions) => {
      this.view.functions = functions
      this.draw()
    }, finish)
    this._say()
  }

  /** Show an error that is meant for people; anything else is a bug and goes on. */
  refuse(error) {
    if (!(error instanceof PriorfitError)) {
      throw error
    }
    this.error = error.message
    this._say()
  }

  _say() {
    const {times, points, subject} = this
    const ms = (value) => `${value < 9.5 ? value.toFixed(1) : Math.round(value)} ms`
    this.words.ofStatus([
      `${points.length} point${points.length === 1 ? "" : "s"}`,
      `network: ${ms(times.network)}`,
      ...(times.reference === undefined ? [] : [`${subject.reference.name}: ${ms(times.reference)}`]),
      `all curves: ${ms(times.all)}`,
      ...(this.surprise ? [this.surprise] : []),
      ...(this.oracle.isBusy || this.python.isBusy && subject.reference?.isTold ? ["the oracle is at work ..."] : []),
      ...(this.sampler.isBusy ? ["drawing functions ..."] : []),
    ])
    const surprise = this.isSurprising
      ? ["This prior would hardly ever draw such points: the network has seen nothing like them."] : []
    const overflow = this.view.isFinite
      ? [] : ["The network's answer is not a number: the values of some points are so large that it overflows."]
    this.words.ofReference(subject.reference, this.hasKnown && !subject.reference?.isTold)
    this.words.ofRemarks([this.error, this.excess, ...overflow, ...this.posterior.remarks(), ...surprise].filter(Boolean))
  }
}
