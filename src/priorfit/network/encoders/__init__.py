"""How inputs and targets become tokens."""
