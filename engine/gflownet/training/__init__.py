"""Training the sampler."""
