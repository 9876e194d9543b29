"""Training the sampler, by one process or several ranks."""
