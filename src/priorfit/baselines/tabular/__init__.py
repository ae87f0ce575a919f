"""Classifiers for tables, tuned by cross-validation on each context: what the paper compares tabular PFNs with."""
