"""Sentence embedders: texts to vectors of unit length."""
