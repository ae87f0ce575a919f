"""Bayesian neural networks by the usual approximations: NUTS and variational inference."""
