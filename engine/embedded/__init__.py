"""The three small built-in models, a folder each; `tests/training` trains them."""
