// The posterior density of a latent within its support: a mixture of Normals over its coordinate, mapped exactly.

export class LatentDensity {
  /** Row i of the mixtures is the answer for number index of the latent. */
  constructor(mixtures, i, space, index) {
    Object.assign(this, {mixtures, i, space, index})
    this.isFalling = space.kind === "below"
  }

  logProb(value) {
    const {space, index} = this
    if (!space.contains(value, index)) {
      return -Infinity
    }
    const coordinate = space.coordinate(value, index)
    return this.mixtures.logProb(this.i, coordinate) - space.logSlope(coordinate, index)
  }

  cdf(value) {
    const below = this.mixtures.cdf(this.i, this.space.coordinate(value, this.index))
    return this.isFalling ? 1 - below : below
  }

  icdf(level) {
    return this.space.value(this.mixtures.icdf(this.i, this.isFalling ? 1 - level : level), this.index)
  }
}

/** The probabilities of a latent that is a class. */
export class LatentClasses {
  constructor(categorical, i) {
    Object.assign(this, {categorical, i})
  }

  logProb(label) {
    return this.categorical.logProb(this.i, label)
  }
}
