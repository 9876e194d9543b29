"""The three small built-in models (a folder each), and their training."""
