"""A network for tables: every cell is a token, so that any number of columns, in any order, gets the same answer."""
