// Matrices of float64 in rows, and the few products that the networks need.

export class Matrix {
  constructor(rows, columns, data = new Float64Array(rows * columns)) {
    this.rows = rows
    this.columns = columns
    this.data = data
  }

  /** One column of numbers. */
  static column(values) {
    return new Matrix(values.length, 1, Float64Array.from(values))
  }

  row(index) {
    return this.data.subarray(index * this.columns, (index + 1) * this.columns)
  }

  map(change) {
    return new Matrix(this.rows, this.columns, this.data.map(change))
  }

  /** Some neighbouring columns, as a copy. */
  slice(start, end) {
    const part = new Matrix(this.rows, end - start)
    for (let i = 0; i < this.rows; i++) {
      part.row(i).set(this.row(i).subarray(start, end))
    }
    return part
  }
}

/** The columns of several matrices side by side. */
export function beside(...parts) {
  const whole = new Matrix(parts[0].rows, parts.reduce((sum, part) => sum + part.columns, 0))
  let start = 0
  for (const part of parts) {
    for (let i = 0; i < whole.rows; i++) {
      whole.data.set(part.row(i), i * whole.columns + start)
    }
    start += part.columns
  }
  return whole
}

/** The rows of one matrix above those of another. */
export function above(a, b) {
  const whole = new Matrix(a.rows + b.rows, a.columns)
  whole.data.set(a.data)
  whole.data.set(b.data, a.data.length)
  return whole
}

export function add(a, b) {
  const sum = new Matrix(a.rows, a.columns)
  for (let i = 0; i < sum.data.length; i++) {
    sum.data[i] = a.data[i] + b.data[i]
  }
  return sum
}

/** a b^T. Two rows of a and four of b at a time: each number that is read serves several products. */
export function timesTransposed(a, b) {
  const product = new Matrix(a.rows, b.rows)
  const [A, B, C] = [a.data, b.data, product.data]
  const [inner, wide] = [a.columns, b.rows]
  for (let i = 0; i < a.rows; i += 2) {
    const first = i * inner
    const second = i + 1 < a.rows ? first + inner : first
    let j = 0
    for (; j + 3 < wide; j += 4) {
      const b0 = j * inner
      const b1 = b0 + inner
      const b2 = b1 + inner
      const b3 = b2 + inner
      let p0 = 0, p1 = 0, p2 = 0, p3 = 0, q0 = 0, q1 = 0, q2 = 0, q3 = 0
      for (let k = 0; k < inner; k++) {
        const p = A[first + k], q = A[second + k]
        const w0 = B[b0 + k], w1 = B[b1 + k], w2 = B[b2 + k], w3 = B[b3 + k]
        p0 += p * w0; p1 += p * w1; p2 += p * w2; p3 += p * w3
        q0 += q * w0; q1 += q * w1; q2 += q * w2; q3 += q * w3
      }
      const at = i * wide + j
      C[at] = p0; C[at + 1] = p1; C[at + 2] = p2; C[at + 3] = p3
      if (second !== first) {
        const below = at + wide
        C[below] = q0; C[below + 1] = q1; C[below + 2] = q2; C[below + 3] = q3
      }
    }
    for (; j < wide; j++) {
      C[i * wide + j] = dot(A, first, B, j * inner, inner)
      if (second !== first) {
        C[(i + 1) * wide + j] = dot(A, second, B, j * inner, inner)
      }
    }
  }
  return product
}

function dot(A, a, B, b, count) {
  let sum = 0
  for (let k = 0; k < count; k++) {
    sum += A[a + k] * B[b + k]
  }
  return sum
}

/** a b. */
export function times(a, b) {
  return timesTransposed(a, transposed(b))
}

export function transposed(a) {
  const turned = new Matrix(a.columns, a.rows)
  for (let i = 0; i < a.rows; i++) {
    for (let j = 0; j < a.columns; j++) {
      turned.data[j * a.rows + i] = a.data[i * a.columns + j]
    }
  }
  return turned
}

/** A linear layer {weight, bias}; the bias may be null. */
export function linear(x, {weight, bias}) {
  const result = timesTransposed(x, weight)
  if (bias) {
    const {data, columns} = result
    for (let i = 0, at = 0; i < result.rows; i++) {
      for (let j = 0; j < columns; j++, at++) {
        data[at] += bias[j]
      }
    }
  }
  return result
}

/** The lower Cholesky factor; NaN where the matrix is not positive definite, as in torch.linalg.cholesky_ex. */
export function cholesky(a) {
  const size = a.rows
  const factor = new Matrix(size, size)
  const L = factor.data
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      const rest = a.data[i * size + j] - dot(L, i * size, L, j * size, j)
      L[i * size + j] = i === j ? Math.sqrt(rest) : rest / L[j * size + j]
    }
  }
  return factor
}

/** The inverse of a lower Cholesky factor, column by column in rows of its transpose. */
export function inverted(factor) {
  const size = factor.rows
  const L = factor.data
  const inverse = new Matrix(size, size)
  const column = new Float64Array(size)
  for (let j = 0; j < size; j++) {
    for (let i = j; i < size; i++) {
      const start = i * size
      let rest = i === j ? 1 : 0
      for (let k = j; k < i; k++) {
        rest -= L[start + k] * column[k]
      }
      column[i] = rest / L[start + i]
      inverse.data[start + j] = column[i]
    }
  }
  return inverse
}

/** L^-1 values for one column of values. */
export function solvedLower(factor, values) {
  const size = factor.rows
  const result = new Float64Array(size)
  for (let i = 0; i < size; i++) {
    result[i] = (values[i] - dot(factor.data, i * size, result, 0, i)) / factor.data[i * size + i]
  }
  return result
}

/** Half the log determinant of the matrix that was factored. */
export function logDeterminant(factor) {
  let sum = 0
  for (let i = 0; i < factor.rows; i++) {
    sum += Math.log(factor.data[i * factor.rows + i])
  }
  return sum
}
