"""Training: recipes, the loop of Algorithm 1, and `fit`."""

from priorfit.training.context_sizes import ContextSizes as ContextSizes
from priorfit.training.context_sizes import Growth as Growth
from priorfit.training.context_sizes import LogUniformSizes as LogUniformSizes
from priorfit.training.context_sizes import PaperSizes as PaperSizes
from priorfit.training.context_sizes import PowerSizes as PowerSizes
from priorfit.training.context_sizes import UniformSizes as UniformSizes
from priorfit.training.finetuning import finetune as finetune
from priorfit.training.fit import fit as fit
from priorfit.training.judge import EarlyStop as EarlyStop
from priorfit.training.loop import Interrupted as Interrupted
from priorfit.training.loop import RunOptions as RunOptions
from priorfit.training.optimiser import OptimiserSettings as OptimiserSettings
from priorfit.training.other_contexts import OtherContexts as OtherContexts
from priorfit.training.progress import Display as Display
from priorfit.training.progress import Reading as Reading
from priorfit.training.recipe import Budget as Budget
from priorfit.training.recipe import DataSettings as DataSettings
from priorfit.training.recipe import Recipe as Recipe
from priorfit.training.recipe import Stage as Stage
from priorfit.training.recipe import read_recipe as read_recipe
from priorfit.training.recipe import recipe_from as recipe_from
from priorfit.training.stages import train as train
