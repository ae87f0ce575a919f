// Where the page begins: the models that were written into it, the controls, and the address.

import {PriorfitError} from "./errors.js"
import {fromBase64, loadModel} from "./network/loading.js"
import {connectDrop, modelOf} from "./page/drop.js"
import {example, FIRST_EXAMPLE} from "./page/functions.js"
import {connectGestures} from "./page/gestures.js"
import {LatentPanel} from "./page/latents.js"
import {Page} from "./page/page.js"
import {Plot} from "./page/plot.js"
import {fromAddress, knownOfAddress, pointLines, pointsOfAddress, readLines, toAddress} from "./page/points.js"
import {Subject} from "./page/subject.js"
import {Words} from "./page/words.js"

const at = (id) => document.getElementById(id)
const WARM = 60 // milliseconds after the first picture
const LATER = 250 // milliseconds after the last change, when the address is written

/** The models of the page by name; one that was written into it is built when it is chosen. */
class Models {
  constructor(written) {
    this.written = new Map(written.map((each) => [each.name, each]))
    this.built = new Map()
  }

  get names() {
    return [...new Set([...this.built.keys(), ...this.written.keys()])].sort((a, b) => a.localeCompare(b))
  }

  subject(name) {
    if (!this.built.has(name)) {
      const {config, weights, asked} = this.written.get(name)
      this.built.set(name, new Subject(name, loadModel(config, fromBase64(weights)), asked))
    }
    return this.built.get(name)
  }

  /** Keep a user's own model; a name that is taken gets a number. */
  add(name, model) {
    const subject = new Subject(name, model)
    for (let count = 2; this.written.has(subject.name) || this.built.has(subject.name); count++) {
      subject.name = `${name} (${count})`
    }
    this.built.set(subject.name, subject)
    return subject
  }
}

/** Open the page; python is whom it asks for what the page cannot know. */
export function start(python) {
  const written = JSON.parse(at("models").textContent)

  const models = new Models(written)
  const words = new Words()
  let timer = 0
  let ownHash = ""
  const writeAddress = () => {
    ownHash = `#${toAddress(page.subject.name, page.points, page.known)}`
    history.replaceState(null, "", ownHash)
  }
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(writeAddress, LATER)
    if (document.activeElement !== at("lines")) {
      at("lines").value = pointLines(page.points)
    }
  }
  const picture = new Plot(at("picture"))
  const latents = new LatentPanel(at("latents"), at("latent-list"), (name, numbers) => page.know(name, numbers))
  const page = new Page({picture, cut: new Plot(at("cut"), {left: 8, right: 8})}, {words, latents, python}, changed)

  const show = (subject, points) => {
    page.show(subject, points)
    words.ofModels(models.names, subject.name)
  }
  const guarded = (action) => {
    try {
      return action()
    } catch (error) {
      page.refuse(error)
    }
  }
  /** Show what an address says; what it cannot say is a sentence, beside the first model. */
  const openAddress = () => {
    const {name, points, known} = fromAddress(location.hash)
    const isKnown = name === null || models.names.includes(name)
    const subject = models.subject(isKnown && name !== null ? name : written[0].name)
    show(subject, points === null || !isKnown ? example(subject, FIRST_EXAMPLE[subject.kind]) : [])
    guarded(() => {
      if (!isKnown) {
        throw new PriorfitError(`The link names the model ${name}, which this page does not have.`)
      }
      Object.entries(knownOfAddress(known)).forEach(([latent, numbers]) => page.know(latent, numbers))
      if (points !== null) {
        page.place(pointsOfAddress(points, subject))
      }
    })
  }

  words.colours = page.colours
  openAddress()
  connectGestures(at("picture"), picture, page)
  connectDrop(at("folder"), document.body, async (files) => {
    try {
      const {name, model} = await modelOf(files)
      show(models.add(name, model))
      page.startFrom(FIRST_EXAMPLE[page.subject.kind])
    } catch (error) {
      page.refuse(error)
    }
  })

  addEventListener("hashchange", () => {
    if (location.hash !== ownHash) {
      openAddress()
    }
  })
  at("model").addEventListener("change", ({target}) => guarded(() => show(models.subject(target.value))))
  at("examples").addEventListener("change", ({target}) => {
    page.startFrom(target.value)
    target.value = ""
  })
  at("clear").addEventListener("click", () => page.place([]))
  at("delete").addEventListener("click", () => page.remove(page.selected))
  at("draw").addEventListener("click", () => page.drawFunctions(Math.min(Math.max(Math.round(at("count").value) || 1, 1), 20)))
  at("apply").addEventListener("click", () => guarded(() => page.place(readLines(at("lines").value, page.subject))))
  at("open").addEventListener("click", () => at("folder").click())
  at("link").addEventListener("click", async () => {
    writeAddress()
    await navigator.clipboard?.writeText(location.href).catch(() => {})
    words.announce("The address of this picture is in the address bar, and copied.")
    at("link").textContent = "Copied"
    setTimeout(() => { at("link").textContent = "Copy link" }, 1500)
  })
  at("label-choices").addEventListener("change", ({target}) => page.label(Number(target.value)))
  for (const box of document.querySelectorAll("#layers input")) {
    box.addEventListener("change", () => page.showLayers(
      Object.fromEntries([...document.querySelectorAll("#layers input")].map(({name, checked}) => [name, checked]))))
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    page.refreshColours()
    words.colourLabels(page.colours)
    page.redraw()
  })
  // By now the code is compiled, and the status shows what an answer takes; functions that were asked for already stay.
  setTimeout(() => page.error || page.numDraws > 0 || page.answer(), WARM)
  new ResizeObserver(() => page.redraw()).observe(at("pictures"))
  globalThis.priorfit = {page, models} // for the tests, and for the curious
}
