"""The pointer network that picks demonstrations, and stage `selector`."""
