"""The sampler: environment, policy, reward and loss."""
