"""A method in a package of its own: how far several samples of an answer agree."""
