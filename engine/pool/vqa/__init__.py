"""The model that answers questions about images, and how its answers are scored."""
