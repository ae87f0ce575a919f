"""Gaussian processes with hyper-priors by the usual approximations: MLE-II and NUTS."""
