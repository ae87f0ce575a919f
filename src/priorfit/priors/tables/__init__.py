"""A prior over tables: columns of many kinds, and targets that follow from them in many ways."""
