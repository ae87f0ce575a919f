// The text and the controls around the pictures.

import {exampleNames} from "./functions.js"
import {drawMarker} from "./markers.js"

const INTRODUCTIONS = {
  curves: "Trained once on draws of a prior, this network reads your points and says at once how likely each y is at each x.",
  map: "Trained once on draws of a prior, this network reads your points and says at once how likely each class is.",
}

export class Words {
  constructor() {
    this.at = (id) => document.getElementById(id)
  }

  ofSubject(subject) {
    const {kind, reference, problem} = subject
    const isMap = kind === "map"
    this.at("intro").textContent = INTRODUCTIONS[kind]
    this.at("prior").textContent = subject.priorWords
    this.at("examples").replaceChildren(
      option("Start from …", ""), ...exampleNames(kind).map((name) => option(name, name)))
    for (const [id, isShown] of [
      ["labels", isMap], ["drawing", !isMap], ["layer-exact", !isMap && reference],
      ["key-points", !isMap], ["key-density", !isMap], ["key-bands", !isMap],
      ["key-exact", !isMap && reference], ["key-functions", !isMap], ["key-map", isMap], ["key-contour", isMap],
      ["key-untrained", Boolean(subject.trained && problem.input_range)], ["no-exact", !isMap && !reference],
    ]) {
      this.at(id).hidden = !isShown
    }
    this.at("density-name").textContent = isMap ? "map" : "density"
    this.at("bands-name").textContent = isMap ? "contours" : "bands"
    this.at("lines-form").textContent = isMap ? "x1 x2 class" : "x y"
    this.at("picture").setAttribute("aria-label", isMap
      ? "Map of class probabilities over two features, with your points"
      : "The network's predictive density of y over x, with your points")
    if (isMap) {
      this._labels(problem.outcome.count)
    }
  }

  _labels(count) {
    const buttons = Array.from({length: count}, (_, label) => {
      const [outer, input, swatch] = ["label", "input", "canvas"].map((tag) => document.createElement(tag))
      Object.assign(input, {type: "radio", name: "label", value: label, checked: label === 0})
      Object.assign(swatch, {width: 16, height: 16})
      swatch.setAttribute("aria-hidden", "true")
      outer.append(input, swatch, ` ${label}`)
      return outer
    })
    this.at("label-choices").replaceChildren(...buttons)
    this.colourLabels()
  }

  /** Draw the shape and colour of each class beside its number. */
  colourLabels(colours = null) {
    this.colours = colours ?? this.colours
    document.querySelectorAll("#label-choices canvas").forEach((swatch, label) => {
      const context = swatch.getContext("2d")
      context.clearRect(0, 0, 16, 16)
      drawMarker(context, 8, 8, {label, radius: 5, fill: this.colours.classes[label % 6], rim: this.colours.rim})
    })
  }

  ofLabel(label) {
    const input = document.querySelector(`#label-choices input[value="${label}"]`)
    if (input) {
      input.checked = true
    }
  }

  ofReference(reference, hasKnown) {
    const name = reference ? `${reference.name}: the same` : ""
    this.at("exact-name").textContent = hasKnown ? `${name}, but only while no latent is known` : name
  }

  ofSelection(hasSelected) {
    this.at("delete").disabled = !hasSelected
  }

  ofStatus(parts) {
    this.at("status").textContent = parts.join(" · ")
  }

  ofRemarks(remarks) {
    this.at("remarks").replaceChildren(...remarks.map((remark) => {
      const line = document.createElement("p")
      line.textContent = remark
      return line
    }))
  }

  ofModels(names, chosen) {
    this.at("model").replaceChildren(...names.map((name) => option(name, name)))
    this.at("model").value = chosen
  }

  /** Tell a screen reader what has changed. */
  announce(text) {
    this.at("live").textContent = text
  }
}

function option(text, value) {
  return Object.assign(document.createElement("option"), {textContent: text, value})
}
