// Slow work in slices between which the page stays alive; a new piece of work of a kind replaces the one before.

const SLICE = 8 // milliseconds

export class Newest {
  constructor() {
    this.turn = 0
    this.isBusy = false
  }

  drop() {
    this.turn += 1
    this.isBusy = false
  }

  /** Run a generator to its end; deliver gets each value that it yields, and finish the one that it returns. */
  start(generator, deliver, finish) {
    this.drop()
    const turn = this.turn
    this.isBusy = true
    const go = () => {
      const until = performance.now() + SLICE
      while (turn === this.turn) {
        const {value, done} = generator.next()
        if (done) {
          this.isBusy = false
          finish(value)
          return
        }
        if (value !== undefined) {
          deliver(value)
        }
        if (performance.now() > until) {
          setTimeout(go)
          return
        }
      }
    }
    setTimeout(go)
  }
}
