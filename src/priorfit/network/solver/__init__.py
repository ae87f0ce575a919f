"""Bayesian inference in families of models that are themselves learned: what has a closed form is solved."""
