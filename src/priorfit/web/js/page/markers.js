// Points on a picture: black dots, or one shape and colour a class, so that no colour is needed to tell them apart.

const SIDES = [0, 4, 3, 5, 6, 3] // circle, diamond, triangle, ...
const RADIUS = 5.5

export function drawPoints(plot, points, selected, colours) {
  points.forEach((point, i) => {
    const isSelected = i === selected
    const fill = isSelected ? colours.selected : point.label === undefined ? colours.point : colours.classes[point.label % 6]
    const rim = isSelected ? colours.point : colours.rim
    drawMarker(plot.context, plot.x(point.x), plot.y(point.y), {
      label: point.label ?? 0, radius: isSelected ? RADIUS + 3 : RADIUS, fill, rim,
    })
  })
}

export function drawMarker(context, x, y, {label, radius, fill, rim}) {
  const sides = SIDES[label % SIDES.length]
  context.beginPath()
  if (sides === 0) {
    context.arc(x, y, radius, 0, 2 * Math.PI)
  }
  for (let k = 0; k < sides; k++) {
    const angle = 2 * Math.PI * k / sides - (label === 5 ? -1 : 1) * Math.PI / 2
    context.lineTo(x + 1.3 * radius * Math.cos(angle), y + 1.3 * radius * Math.sin(angle))
  }
  context.closePath()
  Object.assign(context, {fillStyle: fill, strokeStyle: rim, lineWidth: 1.5})
  context.fill()
  context.stroke()
}

/** Inputs that training did not show: hatched, and named where there is room. */
export function shadeUntrained(plot, subject, colours) {
  if (!subject.trained) {
    return
  }
  const {left, top, width, height} = plot.box
  const [low, high] = subject.trained.map((value) => Math.min(Math.max(plot.x(value), left), left + width))
  const strips = [[left, top, low - left, height], [high, top, left + width - high, height]]
  if (subject.kind === "map") {
    const [below, above] = subject.trained.map((value) => Math.min(Math.max(plot.y(value), top), top + height))
    strips.push([low, top, high - low, above - top], [low, below, high - low, top + height - below])
  }
  const {context} = plot
  for (const [x, y, wide, high] of strips) {
    if (wide < 1 || high < 1) {
      continue
    }
    context.save()
    context.beginPath()
    context.rect(x, y, wide, high)
    context.clip()
    Object.assign(context, {strokeStyle: colours.shade, lineWidth: 1})
    context.beginPath()
    for (let k = -high; k < wide; k += 7) {
      context.moveTo(x + k, y + high)
      context.lineTo(x + k + high, y)
    }
    context.stroke()
    context.restore()
  }
  if (low - left >= 30 && subject.kind === "curves") {
    context.save()
    context.translate(left + (low - left) / 2, top + 12)
    context.rotate(-Math.PI / 2)
    Object.assign(context, {font: "12px system-ui, sans-serif", fillStyle: colours.ink, textAlign: "right", textBaseline: "middle"})
    context.fillText("outside of the trained range", 0, 0)
    context.restore()
  }
}

/** A dotted line through the cursor, or a cross of two. */
export function drawCursor(plot, {x, y}, isCross, colours) {
  const {left, top, width, height} = plot.box
  const {context} = plot
  context.setLineDash([2, 3])
  Object.assign(context, {strokeStyle: colours.ink, lineWidth: 1})
  context.beginPath()
  context.moveTo(plot.x(x), top)
  context.lineTo(plot.x(x), top + height)
  if (isCross) {
    context.moveTo(left, plot.y(y))
    context.lineTo(left + width, plot.y(y))
  }
  context.stroke()
  context.setLineDash([])
}
