// A user's own model: the two files of its folder, dropped or chosen. They are read here and sent nowhere.

import {PriorfitError} from "../errors.js"
import {loadModel, readConfig, WEIGHTS_FILE} from "../network/loading.js"

/** Listen for folders and files that are dropped anywhere on the page, and for those that are chosen. */
export function connectDrop(input, target, take) {
  const taken = async (files) => take(await files)
  document.addEventListener("dragover", (event) => {
    event.preventDefault()
    target.classList.add("is-over")
  })
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) {
      target.classList.remove("is-over")
    }
  })
  document.addEventListener("drop", (event) => {
    event.preventDefault()
    target.classList.remove("is-over")
    taken(droppedFiles(event.dataTransfer))
  })
  input.addEventListener("change", () => {
    taken([...input.files])
    input.value = "" // so that the same folder can be chosen again
  })
}

/** All files that were dropped, those of folders included; what is asked of the event is asked before it ends. */
async function droppedFiles({items}) {
  const asked = [...items].filter(({kind}) => kind === "file").map((item) => {
    const entry = item.webkitGetAsEntry?.()
    return entry?.isDirectory ? filesOf(entry, item.getAsFileSystemHandle?.()) : [item.getAsFile()]
  })
  return (await Promise.all(asked)).flat()
}

/** The files of a folder: by its handle, as Chromium wants it for a page from a file, else by its entry. */
async function filesOf(entry, handle) {
  const files = []
  if (handle) {
    for await (const inner of (await handle).values()) {
      if (inner.kind === "file") {
        files.push(await inner.getFile())
      }
    }
    return files
  }
  const inner = await new Promise((resolve, reject) => entry.createReader().readEntries(resolve, reject))
  return Promise.all(inner.filter(({isFile}) => isFile).map((each) => new Promise((resolve, reject) => each.file(resolve, reject))))
}

/** The network of files that may say anything: what does not end in one of our sentences is one too. */
function built(config, bytes) {
  try {
    return loadModel(config, bytes)
  } catch (error) {
    if (error instanceof PriorfitError) {
      throw error
    }
    throw new PriorfitError(`config.json describes no network that the page can build (${error.message}).`)
  }
}

/** The name and the network of a model's files; a PriorfitError says what is wrong with them. */
export async function modelOf(files) {
  const find = (name) => files.find((file) => file.name === name)
  const [config, weights] = [find("config.json"), find(WEIGHTS_FILE)]
  if (!config || !weights) {
    const found = files.map(({name}) => name).slice(0, 3).join(", ") || "nothing"
    throw new PriorfitError(
      `This is no folder of a model: expected config.json and ${WEIGHTS_FILE}, found ${found}. Drop the folder that `
      + "model.save wrote, or its two files together.")
  }
  const read = readConfig(await config.text())
  const model = built(read, new Uint8Array(await weights.arrayBuffer()))
  const folder = config.webkitRelativePath?.split("/").at(-2)
  return {name: folder ?? read.card?.name ?? "your model", model}
}
