"""A run as its events tell it."""
