// Load a model's folder; print that it was loaded, or the sentence by which it was refused.

import {readFileSync} from "node:fs"

const [modules, folder] = process.argv.slice(2)
const {loadModel, readConfig} = await import(`${modules}/network/loading.js`)
const {PriorfitError} = await import(`${modules}/errors.js`)
const {kindOf} = await import(`${modules}/page/subject.js`)

try {
  const model = loadModel(readConfig(readFileSync(`${folder}/config.json`, "utf8")), new Uint8Array(readFileSync(`${folder}/model.safetensors`)))
  kindOf("this model", model.problem)
  console.log(JSON.stringify({loaded: true}))
} catch (error) {
  if (!(error instanceof PriorfitError)) {
    throw error
  }
  console.log(JSON.stringify({refused: error.message}))
}
