// The references of the page. Arguments: where the modules are, then a file of {prior, x, y, query_x}.
// Prints the mean and the deviation of y at each query.

import {readFileSync} from "node:fs"

const [modules, file] = process.argv.slice(2)
const {referenceOf} = await import(`${modules}/exact/dispatch.js`)
const {Matrix} = await import(`${modules}/numbers/matrix.js`)

function finished(generator) {
  for (;;) {
    const {value, done} = generator.next()
    if (done) {
      return value
    }
  }
}

const answers = JSON.parse(readFileSync(file, "utf8")).map(({prior, x, y, query_x: queryX}) => {
  const reference = referenceOf(prior)
  if (!reference) {
    return null
  }
  const context = [Matrix.column(x), Float64Array.from(y)]
  const posterior = reference.predictor?.condition(...context) ?? finished(reference.oracle.condition(...context))
  const ppd = posterior.predict(Matrix.column(queryX))
  return {name: reference.name, mean: queryX.map((_, i) => ppd.mean(i)), stddev: queryX.map((_, i) => ppd.stddev(i))}
})
console.log(JSON.stringify(answers))
