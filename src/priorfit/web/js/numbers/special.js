// The normal distribution's functions and a few others, in float64.

const ROOT_PI = Math.sqrt(Math.PI)

/** exp(x^2) erfc(x) for x >= 2 by Laplace's continued fraction; 40 terms give all digits there. */
function scaledTail(x) {
  let tail = x
  for (let k = x > 6 ? 16 : 40; k > 0; k--) {
    tail = x + k / 2 / tail
  }
  return 1 / (ROOT_PI * tail)
}

/** erf on |x| < 2 by the series whose terms have one sign. */
function erfSeries(x) {
  let term = x
  let sum = x
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= 2 * x * x / (2 * n + 1)
    sum += term
  }
  return 2 / ROOT_PI * Math.exp(-x * x) * sum
}

/** The complementary error function, to a relative error of about 1e-14. */
export function erfc(x) {
  if (Math.abs(x) < 2) {
    return 1 - erfSeries(x)
  }
  return x > 0 ? Math.exp(-x * x) * scaledTail(x) : 2 - erfc(-x)
}

/** The logarithm of the cdf of the standard Normal, far below 0 too. */
export function logNormalCdf(z) {
  return z < -3 ? -0.5 * z * z + Math.log(0.5 * scaledTail(-z * Math.SQRT1_2)) : Math.log(0.5 * erfc(-z * Math.SQRT1_2))
}

const END = 8.5
const STEPS = 128
const VALUES = new Float64Array(2 * END * STEPS + 2)
const SLOPES = new Float64Array(VALUES.length)
for (let i = 0; i < VALUES.length; i++) {
  const z = i / STEPS - END
  VALUES[i] = 0.5 * erfc(-z * Math.SQRT1_2)
  SLOPES[i] = normalDensity(z) / STEPS
}

export function normalDensity(z) {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)
}

/** The cdf of the standard Normal to an absolute error of 2e-11: a table with its slopes, an order faster than erfc. */
export function normalCdf(z) {
  const place = (z + END) * STEPS
  if (!(place > 0)) {
    return Number.isNaN(place) ? NaN : 0
  }
  const i = place | 0
  if (z >= END) {
    return 1
  }
  const t = place - i
  const a = VALUES[i], b = VALUES[i + 1], c = SLOPES[i], d = SLOPES[i + 1]
  return a + t * (c + t * (3 * (b - a) - 2 * c - d + t * (2 * (a - b) + c + d)))
}

export function gelu(x) {
  return x * normalCdf(x)
}

const CENTRE = [
  [-3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1, 2.506628277459239],
  [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1],
]
const TAIL = [
  [-7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783],
  [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1],
]
const polynomial = (coefficients, x) => coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0)

/** The quantile of the standard Normal: a rational first guess and one step of Halley's method. */
export function normalQuantile(p) {
  if (p <= 0 || p >= 1) {
    return p === 0 ? -Infinity : p === 1 ? Infinity : NaN
  }
  if (p > 0.5) {
    return -normalQuantile(1 - p)
  }
  const q = p - 0.5
  const far = Math.sqrt(-2 * Math.log(p))
  const guess = p < 0.02425
    ? polynomial(TAIL[0], far) / polynomial(TAIL[1], far)
    : q * polynomial(CENTRE[0], q * q) / polynomial(CENTRE[1], q * q)
  const step = (0.5 * erfc(-guess * Math.SQRT1_2) - p) / normalDensity(guess)
  return guess - step / (1 + guess * step / 2)
}

export function softplus(x) {
  return x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x))
}

export function logSumExp(values) {
  let top = -Infinity
  for (let k = 0; k < values.length; k++) {
    top = Math.max(top, values[k])
  }
  if (top === -Infinity) {
    return top
  }
  let sum = 0
  for (let k = 0; k < values.length; k++) {
    sum += Math.exp(values[k] - top)
  }
  return top + Math.log(sum)
}

export function logSoftmax(values) {
  const total = logSumExp(values)
  return Float64Array.from(values).map((value) => value - total)
}

export const softmax = (values) => logSoftmax(values).map(Math.exp)

/** log Gamma(x) for x > 0: Stirling's series, after x was raised above 10. */
export function logGamma(x) {
  let product = 1
  for (; x < 10; x++) {
    product *= x
  }
  const inverse = 1 / (x * x)
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product)
}

/** The second derivative of log Gamma: the variance of the logarithm of a Gamma variable. */
export function trigamma(x) {
  let sum = 0
  for (; x < 10; x++) {
    sum += 1 / (x * x)
  }
  const inverse = 1 / (x * x)
  return sum + 1 / x + inverse / 2 + inverse / x * (1 / 6 - inverse * (1 / 30 - inverse / 42))
}

export const logAddExp = (a, b) => logSumExp([a, b])

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high)
