// The colours of the pictures, as the style sheet names them for light and dark.

const NAMES = ["ink", "quiet", "grid", "surface", "heat", "network", "exact", "functions", "point", "rim", "selected", "shade"]
const CLASSES = ["class0", "class1", "class2", "class3", "class4", "class5"]

export function coloursOf(element) {
  const style = getComputedStyle(element)
  const value = (name) => style.getPropertyValue(`--${name}`).trim()
  const colours = Object.fromEntries(NAMES.map((name) => [name, value(name)]))
  colours.classes = CLASSES.map(value)
  return colours
}

/** Red, green and blue of a colour like #56B4E9. */
export function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
}
