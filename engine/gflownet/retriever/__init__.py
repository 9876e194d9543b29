"""Scores for the edges of a graph."""
