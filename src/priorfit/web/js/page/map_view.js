// The picture of class probabilities over two features, from coarse to fine, and the probabilities at the cursor.

import {Matrix} from "../numbers/matrix.js"
import {channels} from "./colours.js"
import {canvasOf} from "./curves_view.js"
import {drawCursor, drawMarker, drawPoints, shadeUntrained} from "./markers.js"
import {Newest} from "./work.js"

const SIZES = [8, 12, 16, 24, 36, 48, 64]
const AT_ONCE = 12 // milliseconds that the first picture of new points may take
const PIECE = 32 // queries between two looks at the clock

export class MapView {
  constructor(subject, redraw) {
    this.subject = subject
    this.redraw = redraw
    this.refining = new Newest()
    this.perQuery = 0.1 // milliseconds; measured with each answer
    this.classes = subject.problem.outcome.count
  }

  /** Take the network's answer to new points: a coarse map at once, finer ones in the background. */
  take(posterior) {
    this.posterior = posterior
    const affordable = SIZES.filter((size) => size * size * this.perQuery <= AT_ONCE)
    const first = affordable.at(-1) ?? SIZES[0]
    const start = performance.now()
    this.probs = posterior.predict(this.subject.grid(first)).probs
    this.size = first
    this.perQuery = 0.5 * this.perQuery + 0.5 * (performance.now() - start) / first ** 2
    this.refining.start(this._finer(posterior, first), (map) => {
      Object.assign(this, map)
      this.redraw()
    }, () => {})
  }

  get isFinite() {
    return this.probs.every(Number.isFinite)
  }

  takeReference() {}

  * _finer(posterior, first) {
    for (const size of SIZES.filter((each) => each > first && (each === 24 || each >= 48))) {
      const grid = this.subject.grid(size)
      const probs = new Float64Array(grid.rows * this.classes)
      for (let row = 0; row < grid.rows; row += PIECE) {
        const end = Math.min(row + PIECE, grid.rows)
        const piece = new Matrix(end - row, 2, grid.data.slice(2 * row, 2 * end))
        probs.set(posterior.predict(piece).probs, row * this.classes)
        yield
      }
      yield {probs, size}
    }
  }

  draw(plot, page) {
    const {subject} = this
    const {colours, layers} = page
    plot.xRange = subject.xRange
    plot.yRange = subject.yRange
    plot.begin()
    const {left, top, width, height} = plot.box
    if (layers.density) {
      plot.inside((context) => {
        context.imageSmoothingQuality = "high"
        context.drawImage(this._image(colours), left, top, width, height)
      })
    }
    plot.axes(colours, {x: "x1", y: "x2"})
    plot.inside(() => {
      shadeUntrained(plot, subject, colours)
      if (layers.bands) {
        this._contours(plot, colours)
      }
      drawCursor(plot, page.cursor, true, colours)
      drawPoints(plot, page.points, page.selected, colours)
    })
  }

  /** Each cell in the colours of the classes that are likelier than chance; as pale as they are unsure. */
  _image({classes, surface}) {
    const {size} = this
    const image = new ImageData(size, size)
    const bases = Array.from({length: this.classes}, (_, k) => channels(classes[k % classes.length]))
    const ground = channels(surface)
    for (let at = 0; at < size * size; at++) {
      const target = 4 * ((size - 1 - Math.floor(at / size)) * size + at % size)
      const shares = bases.map((_, k) => Math.max(this.probs[at * this.classes + k] - 1 / this.classes, 0))
      const total = shares.reduce((sum, share) => sum + share, 1e-12)
      const strength = 0.85 * this._certainty(at) ** 0.8 / total
      for (let c = 0; c < 3; c++) {
        image.data[target + c] = bases.reduce((value, base, k) => value + strength * shares[k] * (base[c] - ground[c]), ground[c])
      }
      image.data[target + 3] = 255
    }
    return canvasOf(image)
  }

  /** 0 where all classes are as likely, 1 where one is certain. */
  _certainty(at) {
    let top = 0
    for (let k = 0; k < this.classes; k++) {
      top = Math.max(top, this.probs[at * this.classes + k])
    }
    return (top - 1 / this.classes) / (1 - 1 / this.classes)
  }

  /** Where a class has probability 1/2 (bold), and 5 % and 95 % (thin), by marching squares. */
  _contours(plot, colours) {
    for (let label = this.classes === 2 ? 1 : 0; label < this.classes; label++) {
      for (const [level, width, dash] of [[0.5, 2.2, []], [0.05, 1, [4, 3]], [0.95, 1, [4, 3]]]) {
        this._contour(plot, label, level, {colour: colours.ink, width, dash})
      }
    }
  }

  _contour(plot, label, level, {colour, width, dash}) {
    const {size, subject: {xRange, yRange}} = this
    const value = (i, j) => this.probs[(j * size + i) * this.classes + label] - level
    const place = (range, k) => range[0] + (k + 0.5) / size * (range[1] - range[0])
    const {context} = plot
    context.beginPath()
    for (let j = 0; j + 1 < size; j++) {
      for (let i = 0; i + 1 < size; i++) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]]
        const crossings = corners.flatMap(([a, b], k) => {
          const [c, d] = corners[(k + 1) % 4]
          const [from, to] = [value(a, b), value(c, d)]
          const share = from / (from - to)
          return from < 0 !== to < 0 ? [[a + share * (c - a), b + share * (d - b)]] : []
        })
        for (let k = 0; k + 1 < crossings.length; k += 2) {
          context.moveTo(plot.x(place(xRange, crossings[k][0])), plot.y(place(yRange, crossings[k][1])))
          context.lineTo(plot.x(place(xRange, crossings[k + 1][0])), plot.y(place(yRange, crossings[k + 1][1])))
        }
      }
    }
    Object.assign(context, {strokeStyle: colour, lineWidth: width})
    context.setLineDash(dash)
    context.stroke()
    context.setLineDash([])
  }

  /** The probability of each class at the cursor, as bars. */
  drawCut(plot, page) {
    const {colours, cursor} = page
    const ppd = this.posterior.predict(new Matrix(1, 2, Float64Array.of(cursor.x, cursor.y)))
    const probs = Array.from({length: this.classes}, (_, k) => ppd.prob(0, k))
    this.cut = {x: cursor.x, y: cursor.y, network: probs}
    plot.begin()
    const {context, box} = plot
    Object.assign(context, {font: "13px system-ui, sans-serif", textBaseline: "middle", textAlign: "left"})
    const row = Math.min(76, box.height / this.classes)
    const high = 0.5 * row
    probs.forEach((prob, k) => {
      const y = box.top + box.height / 2 + (k + 0.65 - this.classes / 2) * row
      context.fillStyle = colours.grid
      context.fillRect(box.left, y - high / 2, box.width, high)
      context.fillStyle = colours.classes[k % 6]
      context.fillRect(box.left, y - high / 2, prob * box.width, high)
      context.fillStyle = colours.ink
      context.fillText(`class ${k}: ${(100 * prob).toFixed(1)} %`, box.left + 18, y - high / 2 - 12)
      drawMarker(context, box.left + 7, y - high / 2 - 12, {label: k, radius: 5, fill: colours.classes[k % 6], rim: colours.rim})
    })
    context.textAlign = "center"
    context.fillStyle = colours.ink
    context.fillText("probability at the cursor", box.left + box.width / 2, box.top + box.height + 30)
  }
}
