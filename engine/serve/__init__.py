"""The steered server: OpenAI's interface in front of a model with a run's levers."""
