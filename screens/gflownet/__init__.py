"""What if: other paths."""
