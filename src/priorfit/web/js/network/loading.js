// A model from its two files: config.json and model.safetensors, checked by the hash that the config records.

import {PriorfitError} from "../errors.js"
import {sha256} from "../numbers/sha256.js"
import {presentProblem, presentSettings, presentWeights} from "./older_files.js"
import {Pfn} from "./pfn.js"
import {problemOf} from "./problem.js"
import {readSafetensors, Weights} from "./safetensors.js"
import {settingsOf} from "./settings.js"

export const WEIGHTS_FILE = "model.safetensors"
const FORMAT_VERSION = 1
const MOST_BYTES = 256 * 2 ** 20

/** The config as an object; text that is none of priorfit's is refused. */
export function readConfig(text) {
  let config
  try {
    config = JSON.parse(text)
  } catch {
    throw new PriorfitError("config.json is not valid JSON. Copy the model anew.")
  }
  if (config?.format !== "priorfit") {
    throw new PriorfitError("This config.json was not written by priorfit. Drop a folder that model.save wrote.")
  }
  if (!(config.format_version <= FORMAT_VERSION)) {
    throw new PriorfitError(`This model has format version ${config.format_version}; the page reads up to ${FORMAT_VERSION}.`)
  }
  return config
}

/** The network of a config and its weights. */
export function loadModel(config, bytes) {
  if (!config.network || !config.files?.[WEIGHTS_FILE]) {
    throw new PriorfitError("config.json lacks the network or its list of files. Drop a folder that model.save wrote.")
  }
  const problem = problemOf(presentProblem(config))
  const settings = settingsOf(presentSettings(config.network), problem)
  checkBytes(bytes, config.files[WEIGHTS_FILE])
  return new Pfn(settings, problem, config.card ?? {}, new Weights(presentWeights(readSafetensors(bytes))))
}

function checkBytes(bytes, {bytes: size, sha256: digest}) {
  if (bytes.length > MOST_BYTES) {
    throw new PriorfitError(`The weights have ${Math.round(bytes.length / 2 ** 20)} MB; the page takes at most 256.`)
  }
  if (bytes.length !== size) {
    throw new PriorfitError(
      `The weights are damaged or of another model: ${WEIGHTS_FILE} should have ${size} bytes and has ${bytes.length}.`)
  }
  if (sha256(bytes) !== digest) {
    throw new PriorfitError(`The weights are damaged or of another model: the sha256 of ${WEIGHTS_FILE} is not the one in config.json.`)
  }
}

/** The bytes of base64 text. */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}
