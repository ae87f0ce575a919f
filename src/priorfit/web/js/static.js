// The page as a file: it asks nobody.

import {start} from "./main.js"

start({ask() {}, isBusy: false})
