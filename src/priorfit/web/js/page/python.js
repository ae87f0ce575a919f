// What the server of `priorfit demo` adds to the page: a p-value, and the truth of a prior whose code it has.

const PAUSE = 150 // milliseconds without a change before Python is asked
const GONE = "Python no longer answers: the command that opened this page has ended. The network itself runs in the page."
const SAME = 1e-9 // of the cursor's place

export class Python {
  constructor() {
    this.isBusy = false
    this.timer = 0
    this.next = null
  }

  /** Ask about points; only the newest question counts, and one is on its way at a time. */
  ask(question, take) {
    this.next = {question, take}
    if (!this.isSending) {
      this.isBusy = true
      clearTimeout(this.timer)
      this.timer = setTimeout(() => this._send(), PAUSE)
    }
  }

  async _send() {
    this.isSending = true
    while (this.next) {
      const {question, take} = this.next
      this.next = null
      const said = await answerTo(question)
      if (!this.next) {
        this.isBusy = false
        take(said)
      }
    }
    this.isSending = false
  }
}

async function answerTo(question) {
  try {
    const reply = await fetch("answer", {method: "POST", body: JSON.stringify(question)})
    const said = reply.ok ? await reply.json() : {}
    return {surprise: said.surprise ?? "", reference: said.bands ? new Told(said) : null, error: null}
  } catch {
    return {surprise: "", reference: null, error: GONE}
  }
}

/** A posterior that Python was asked about: its curves, and the density at one place. */
class Told {
  constructor({bands, cut}) {
    Object.assign(this, {bands, cut})
  }

  /** The density at x; null until Python has said it. */
  densityAt(x) {
    return Math.abs(x - this.cut.x) < SAME ? Float64Array.from(this.cut.density) : null
  }
}
