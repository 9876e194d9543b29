"""The smaller graphs that the sampler walks on."""
