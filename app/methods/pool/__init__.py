"""What the demonstration pool shows."""
