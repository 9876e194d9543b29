"""Sweeps: many settings of one configuration, each an ordinary run, with stages of equal inputs done once."""
