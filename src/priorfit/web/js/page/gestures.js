// What mouse, fingers and keys do on the picture.

import {clamp} from "../numbers/special.js"

const REACH = 14 // pixels around a point that count as the point
const STILL = 5 // pixels that a hand may tremble
const STEP = 1 / 60 // of the window, that an arrow key moves; ten times as far with Shift

export function connectGestures(element, plot, page) {
  let grabbed = null
  let pressed = null

  const place = (event) => {
    const box = element.getBoundingClientRect()
    const [px, py] = [event.clientX - box.left, event.clientY - box.top]
    return {px, py, ...plot.at(px, py)}
  }
  const inside = ({x, y}) => ({x: clamp(x, ...plot.xRange), y: clamp(y, ...plot.yRange)})
  const isInside = (where) => inside(where).x === where.x && inside(where).y === where.y

  const nearest = ({px, py}) => {
    let [best, least] = [null, REACH]
    page.points.forEach((point, i) => {
      const distance = Math.hypot(plot.x(point.x) - px, plot.y(point.y) - py)
      if (distance <= least) {
        [best, least] = [i, distance]
      }
    })
    return best
  }

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) {
      return
    }
    const where = place(event)
    page.useKeys(false)
    grabbed = nearest(where)
    pressed = where
    element.setPointerCapture(event.pointerId)
  })

  element.addEventListener("pointermove", (event) => {
    const where = place(event)
    if (pressed && Math.hypot(where.px - pressed.px, where.py - pressed.py) > STILL) {
      pressed = null
    }
    if (grabbed !== null && !pressed && event.buttons) {
      page.move(grabbed, inside(where))
    } else if (isInside(where)) {
      page.pointTo(where)
    }
  })

  element.addEventListener("pointerup", (event) => {
    const where = place(event)
    if (pressed && grabbed !== null) {
      page.select(page.selected === grabbed ? null : grabbed)
    } else if (pressed && isInside(where)) {
      page.pointTo(where)
      page.add(inside(where))
    }
    grabbed = pressed = null
  })

  element.addEventListener("pointercancel", () => { grabbed = pressed = null })

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return
    }
    if (keyed(event.key, event.shiftKey ? 10 * STEP : STEP)) {
      event.preventDefault()
    }
  })
  element.addEventListener("blur", () => page.useKeys(false))

  const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}

  /** Do what a key says; false where it says nothing here. */
  function keyed(key, step) {
    const {points, selected} = page
    if (key in ARROWS) {
      const from = selected === null ? page.cursor : points[selected]
      const [dx, dy] = ARROWS[key].map((sign, i) => sign * step * size([plot.xRange, plot.yRange][i]))
      const to = inside({x: from.x + dx, y: from.y + dy})
      page.useKeys(true)
      if (selected === null) {
        page.pointTo(to, "keys")
      } else {
        page.move(selected, to)
      }
    } else if (key === "Enter" || key === " ") {
      page.useKeys(true)
      if (selected === null) {
        page.add(inside(page.cursor))
      } else {
        page.select(null)
      }
    } else if (key === "Delete" || key === "Backspace") {
      page.remove(selected)
    } else if (key === "n" || key === "p") {
      const turn = key === "n" ? 1 : -1
      const from = selected ?? (turn > 0 ? -1 : 0)
      page.select(points.length ? (from + turn + points.length) % points.length : null)
    } else if (key === "Escape") {
      page.select(null)
    } else if (/^[0-9]$/.test(key)) {
      return page.label(Number(key))
    } else {
      return false
    }
    return true
  }

  const size = ([low, high]) => high - low
}
