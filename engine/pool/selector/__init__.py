"""The pointer network that picks demonstrations, and its stage `selector`."""
