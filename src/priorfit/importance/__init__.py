"""Weighted and adapted draws of a prior's latents: the truth, and what `refined` corrects with."""

from priorfit.importance.particles import ParticlePosterior as ParticlePosterior
from priorfit.importance.particles import Particles as Particles
from priorfit.importance.target import Target as Target
