// Solvers by the names of their settings.

import {buildCellSolver} from "./cells.js"
import {buildClassSolver} from "./classes.js"
import {buildLatentSolver} from "./latent.js"
import {buildLinearSolver} from "./linear.js"
import {buildStepSolver} from "./steps.js"

export const SOLVERS = {
  LinearSolver: buildLinearSolver, ClassSolver: buildClassSolver, LatentSolver: buildLatentSolver,
  CellSolver: buildCellSolver, StepSolver: buildStepSolver
}
