"""Evolution of cluster deltas: steering by what is added to the logits of token clusters (spec Evolution)."""
