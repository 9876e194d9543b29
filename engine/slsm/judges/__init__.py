"""Who decides whether an answer passes, and the scores."""
