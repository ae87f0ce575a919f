// The picture of real targets over one feature, and the cut through its density at the cursor.

import {cutAt, bandsOf, heatOf, LINES} from "./answer.js"
import {channels} from "./colours.js"
import {drawCursor, drawPoints, shadeUntrained} from "./markers.js"

const WIDTHS = {mean: 2.6, low50: 1.5, high50: 1.5, low95: 0.9, high95: 0.9}
const DASH = [6, 7] // with gaps through which the network's line is seen

export class CurvesView {
  constructor(subject) {
    this.subject = subject
    this.bands = {network: null, exact: null}
  }

  /** Take the network's answer to new points. */
  take(posterior) {
    this.posterior = posterior
    this.ppd = posterior.predict(this.subject.queries)
    this.bands = {network: bandsOf(this.ppd), exact: null}
    this.heat = null
    this.exact = null
    this.functions = []
  }

  /** Whether the answer is numbers: values of an enormous size overflow inside. */
  get isFinite() {
    return this.bands.network.mean.every(Number.isFinite)
  }

  takeReference(posterior) {
    this.exact = posterior
    this.bands.exact = posterior.bands ?? bandsOf(posterior.predict(this.subject.queries))
  }

  draw(plot, page) {
    const {subject} = this
    const {colours, layers} = page
    plot.xRange = subject.xRange
    plot.yRange = subject.yRange
    plot.begin()
    if (layers.density) {
      this.heat ??= heatOf(this.ppd, subject.yRange)
      plot.context.drawImage(imageOf(this.heat, colours), plot.box.left, plot.box.top, plot.box.width, plot.box.height)
    }
    plot.axes(colours, {x: "x", y: "y"})
    plot.inside(() => {
      shadeUntrained(plot, subject, colours)
      for (const drawn of this.functions) {
        plot.line(drawn.map(({x}) => x), drawn.map(({y}) => y), {colour: colours.functions, width: 1.3})
      }
      if (layers.bands) {
        this._lines(plot, this.bands.network, colours.network, [])
      }
      if (layers.exact && this.bands.exact) {
        this._lines(plot, this.bands.exact, colours.exact, DASH)
      }
      drawCursor(plot, page.cursor, page.hasKeys, colours)
      drawPoints(plot, page.points, page.selected, colours)
    })
  }

  _lines(plot, bands, colour, dash) {
    for (const name of LINES) {
      plot.line(this.subject.queries.data, bands[name], {colour, width: WIDTHS[name], dash})
    }
  }

  /** The density of y at the cursor, lying on its side, so that y is the same height as in the picture. */
  drawCut(plot, page) {
    const {colours, layers, cursor} = page
    const {yRange} = this.subject
    const network = cutAt(this.posterior, cursor.x, yRange)
    const exact = layers.exact && this.exact ? cutAt(this.exact, cursor.x, yRange) : null
    const values = network.map((_, k) => yRange[0] + (k + 0.5) / network.length * (yRange[1] - yRange[0]))
    this.cut = {x: cursor.x, network, exact}
    plot.xRange = [0, 1.05 * Math.max(...network, ...(exact ?? [0]), 1e-9)]
    plot.yRange = yRange
    plot.begin()
    plot.axes(colours, {x: "density of y at the cursor"})
    plot.inside((context) => {
      context.beginPath()
      context.moveTo(plot.x(0), plot.y(values[0]))
      network.forEach((density, k) => context.lineTo(plot.x(density), plot.y(values[k])))
      context.lineTo(plot.x(0), plot.y(values.at(-1)))
      Object.assign(context, {fillStyle: colours.heat, globalAlpha: 0.7})
      context.fill()
      context.globalAlpha = 1
      plot.line(network, values, {colour: colours.network, width: 2})
      if (exact) {
        plot.line(exact, values, {colour: colours.exact, width: 1.8, dash: DASH})
      }
    })
  }
}

/** The shades as a small picture, which the canvas stretches. */
function imageOf(heat, {surface, heat: top}) {
  const [wide, high] = [heat.length, heat[0].length]
  const image = new ImageData(wide, high)
  const [low, up] = [channels(surface), channels(top)]
  for (let i = 0; i < wide; i++) {
    for (let k = 0; k < high; k++) {
      const at = 4 * ((high - 1 - k) * wide + i)
      const shade = heat[i][k]
      for (let c = 0; c < 3; c++) {
        image.data[at + c] = low[c] + shade * (up[c] - low[c])
      }
      image.data[at + 3] = 255
    }
  }
  return canvasOf(image)
}

export function canvasOf(image) {
  const canvas = document.createElement("canvas")
  canvas.width = image.width
  canvas.height = image.height
  canvas.getContext("2d").putImageData(image, 0, 0)
  return canvas
}
