"""The demonstrations, their embeddings, and RL data."""
