"""From the network's numbers, and a solver's first guess, to a distribution; one file a head."""
