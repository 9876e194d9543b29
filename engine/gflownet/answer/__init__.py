"""Answers from sampled paths."""
