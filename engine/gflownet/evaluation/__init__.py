"""What the sampler is worth: questions, paths, baselines, figures."""
