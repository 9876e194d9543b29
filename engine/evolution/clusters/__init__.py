"""The clusters of the vocabulary, and stage `clusters`."""
