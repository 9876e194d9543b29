"""Models that answer questions about images, and the scores of their answers."""
