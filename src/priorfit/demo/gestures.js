// What mouse and keys do: points move at once in the browser, the server hears of them when it has answered.
// While it computes, nothing is sent; then it gets the newest state, so events never pile up.

const REACH = 14  // pixels around a point that count as the point
const STILL = 5  // pixels that a hand may tremble
const TYPING = new Set(["INPUT", "SELECT", "TEXTAREA"])

let sent = 0
let answered = 0
let is_changed = false  // points of which the server has not heard
let is_moved = false  // a cursor of which it has not heard
let cursor = null
let grabbed = null  // the point that follows the mouse
let pressed = null  // where a button went down and stayed: Bokeh then speaks of a press, no longer of a tap or a pan
let is_listening = false  // to the keys

function inside({figure}, {x, y}) {
  const {x_range, y_range} = figure
  return x_range.start <= x && x <= x_range.end && y_range.start <= y && y <= y_range.end
}

function nearest({figure, points}, event) {
  const across = figure.inner_width / (figure.x_range.end - figure.x_range.start)
  const up = figure.inner_height / (figure.y_range.end - figure.y_range.start)
  const {x, y} = points.data
  let [best, distance] = [null, REACH]
  for (let i = 0; i < x.length; i++) {
    const d = Math.hypot((x[i] - event.x) * across, (y[i] - event.y) * up)
    if (d <= distance) {
      [best, distance] = [i, d]
    }
  }
  return best
}

function tell({points, turn}) {
  if (sent > answered || !(is_changed || is_moved)) {
    return
  }
  if (is_changed) {
    const data = {x: [...points.data.x], y: [...points.data.y]}
    points.setv({data}, {check_eq: false})  // it was changed in place, so it would seem to be the same
  }
  is_changed = is_moved = false
  sent += 1
  turn.data = {serial: [sent], cursor: [cursor]}
}

function place(args, x, y, selected) {
  args.points.data.x = x
  args.points.data.y = y
  args.points.selected.indices = selected
  args.points.change.emit()
  is_changed = true
  tell(args)
}

function tap(args, event) {
  const {points} = args
  document.activeElement?.blur()  // a frame around the figure says nothing, and keys are heard anyway
  if (!inside(args, event)) {
    return
  }
  const hit = nearest(args, event)
  if (hit === null && points.data.x.length >= args.most) {
    return  // the page says so
  }
  if (hit === null) {
    place(args, [...points.data.x, event.x], [...points.data.y, event.y], [])
  } else {
    points.selected.indices = points.selected.indices.includes(hit) ? [] : [hit]
  }
}

function drag({figure, points}, event) {
  const clamp = (value, {start, end}) => Math.min(Math.max(value, start), end)
  points.data.x[grabbed] = clamp(event.x, figure.x_range)
  points.data.y[grabbed] = clamp(event.y, figure.y_range)
  points.change.emit()
  is_changed = true
}

function key(args, event) {
  const {points} = args
  const {indices} = points.selected
  if (!["Delete", "Backspace"].includes(event.key) || indices.length == 0) {
    return
  }
  if (TYPING.has(event.composedPath()[0].tagName)) {
    return
  }
  const rest = (column) => [...column].filter((_, i) => !indices.includes(i))
  place(args, rest(points.data.x), rest(points.data.y), [])
}

function move(args, event) {
  if (pressed !== null && Math.hypot(event.sx - pressed.sx, event.sy - pressed.sy) > STILL) {
    pressed = null
  }
  if (grabbed !== null && pressed === null) {
    drag(args, event)
  }
  if (inside(args, event)) {
    cursor = event.x
    is_moved = true
  }
  tell(args)
}

function grab(args, event) {
  document.activeElement?.blur()
  grabbed = nearest(args, event)
}

function press(args, event) {
  grab(args, event)
  pressed = event
}

function release(args, event) {
  grabbed = null
  if (pressed !== null) {
    pressed = null
    tap(args, event)
  }
}

function hear(args) {
  answered = args.answer.data.serial[0]
  tell(args)
}

export default (args, event) => {
  if (!is_listening) {
    is_listening = true
    document.addEventListener("keydown", (stroke) => key(args, stroke))
  }
  switch (event.event_name) {
    case "tap":
    case "doubletap": return tap(args, event)
    case "panstart": return grab(args, event)
    case "press": return press(args, event)
    case "pan":
    case "mousemove": return move(args, event)
    case "panend":
    case "pressup": return release(args, event)
    default: return hear(args)  // not an event: the answer has changed
  }
}
