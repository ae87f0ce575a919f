// The page of `priorfit demo`: it asks its own server for what only Python can say.

import {start} from "./main.js"
import {Python} from "./page/python.js"

start(new Python())
