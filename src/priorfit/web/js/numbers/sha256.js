// SHA-256 of bytes (FIPS 180-4). A browser's own is missing on plain http, where the page must work too.

const root = (n, power) => Math.floor((n ** power % 1) * 2 ** 32) | 0

const PRIMES = []
for (let n = 2; PRIMES.length < 64; n++) {
  if (PRIMES.every((prime) => n % prime)) {
    PRIMES.push(n)
  }
}
const CONSTANTS = Int32Array.from(PRIMES, (prime) => root(prime, 1 / 3))
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => root(prime, 1 / 2))

const turned = (word, by) => word >>> by | word << 32 - by

function mix(state, words) {
  let [a, b, c, d, e, f, g, h] = state
  for (let i = 0; i < 64; i++) {
    if (i >= 16) {
      const [x, y] = [words[i - 15], words[i - 2]]
      const low = turned(x, 7) ^ turned(x, 18) ^ x >>> 3
      const high = turned(y, 17) ^ turned(y, 19) ^ y >>> 10
      words[i] = words[i - 16] + low + words[i - 7] + high | 0
    }
    const chosen = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (e & f ^ ~e & g)
    const first = h + chosen + CONSTANTS[i] + words[i] | 0
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + (a & b ^ a & c ^ b & c) | 0
    h = g; g = f; f = e; e = d + first | 0
    d = c; c = b; b = a; a = first + second | 0
  }
  ;[a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] = state[i] + word | 0 })
}

/** The hash as 64 hexadecimal digits. */
export function sha256(bytes) {
  const padded = new Uint8Array((bytes.length + 72 >> 6) << 6)
  padded.set(bytes)
  padded[bytes.length] = 128
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, bytes.length / 2 ** 29)
  view.setUint32(padded.length - 4, bytes.length << 3)
  const state = Int32Array.from(START)
  const words = new Int32Array(64)
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 16; i++) {
      words[i] = view.getInt32(start + 4 * i)
    }
    mix(state, words)
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("")
}
