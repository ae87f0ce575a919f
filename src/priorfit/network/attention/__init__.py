"""The transformer: the one place where tokens look at each other."""
