// A canvas with two axes: from numbers to pixels and back, ticks, and a frame for what is drawn inside.

const MARGINS = {left: 46, right: 12, top: 10, bottom: 40}
const FONT = "13px system-ui, sans-serif"

export class Plot {
  constructor(canvas, margins = {}) {
    this.canvas = canvas
    this.context = canvas.getContext("2d")
    this.margins = {...MARGINS, ...margins}
    this.xRange = [0, 1]
    this.yRange = [0, 1]
  }

  /** Fit the canvas to its place on the screen, and empty it. */
  begin() {
    const {clientWidth: width, clientHeight: height} = this.canvas
    const density = globalThis.devicePixelRatio || 1
    const [wide, high] = [Math.round(width * density), Math.round(height * density)]
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide
      this.canvas.height = high
    }
    this.context.setTransform(density, 0, 0, density, 0, 0)
    this.context.clearRect(0, 0, width, height)
    const {left, right, top, bottom} = this.margins
    this.box = {left, top, width: Math.max(width - left - right, 1), height: Math.max(height - top - bottom, 1)}
  }

  x(value) {
    const [low, high] = this.xRange
    return this.box.left + (value - low) / (high - low) * this.box.width
  }

  y(value) {
    const [low, high] = this.yRange
    return this.box.top + (high - value) / (high - low) * this.box.height
  }

  /** The numbers at a pixel of the canvas. */
  at(px, py) {
    const [[left, right], [low, high]] = [this.xRange, this.yRange]
    return {
      x: left + (px - this.box.left) / this.box.width * (right - left),
      y: high - (py - this.box.top) / this.box.height * (high - low),
    }
  }

  /** Draw inside of the axes alone. */
  inside(draw) {
    const {left, top, width, height} = this.box
    this.context.save()
    this.context.beginPath()
    this.context.rect(left, top, width, height)
    this.context.clip()
    draw(this.context)
    this.context.restore()
  }

  line(xs, ys, {colour, width, dash = []}) {
    const {context} = this
    context.beginPath()
    for (let i = 0; i < xs.length; i++) {
      context.lineTo(this.x(xs[i]), this.y(ys[i]))
    }
    Object.assign(context, {strokeStyle: colour, lineWidth: width, lineJoin: "round"})
    context.setLineDash(dash)
    context.stroke()
    context.setLineDash([])
  }

  /** Grid, ticks and labels; sides without a label have no ticks. */
  axes(colours, {x = null, y = null}) {
    const {context, box} = this
    Object.assign(context, {font: FONT, fillStyle: colours.ink, strokeStyle: colours.grid, lineWidth: 1})
    const bottom = box.top + box.height
    const lined = (fromX, fromY, toX, toY) => {
      context.beginPath()
      context.moveTo(Math.round(fromX) + 0.5, Math.round(fromY) + 0.5)
      context.lineTo(Math.round(toX) + 0.5, Math.round(toY) + 0.5)
      context.stroke()
    }
    context.textBaseline = "top"
    context.textAlign = "center"
    for (const tick of ticks(this.xRange, box.width / 80)) {
      lined(this.x(tick), box.top, this.x(tick), bottom)
      context.fillText(inWords(tick), this.x(tick), bottom + 6)
    }
    context.textBaseline = "middle"
    context.textAlign = "right"
    for (const tick of ticks(this.yRange, box.height / 55)) {
      lined(box.left, this.y(tick), box.left + box.width, this.y(tick))
      if (y) {
        context.fillText(inWords(tick), box.left - 7, this.y(tick))
      }
    }
    context.textAlign = "center"
    if (x) {
      context.fillText(x, box.left + box.width / 2, bottom + 30)
    }
    if (y) {
      context.save()
      context.translate(11, box.top + box.height / 2)
      context.rotate(-Math.PI / 2)
      context.fillText(y, 0, 0)
      context.restore()
    }
  }
}

const inWords = (tick) => String(tick).replace("-", "−")

/** Round numbers inside of a range, about as many as wished. */
export function ticks([low, high], wished) {
  const rough = (high - low) / Math.max(wished, 2)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power
  const found = []
  for (let k = Math.ceil(low / step); k * step <= high; k++) {
    found.push(Number((k * step).toPrecision(6)))
  }
  return found
}
