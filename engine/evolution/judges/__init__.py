"""Who decides whether an answer is correct."""
