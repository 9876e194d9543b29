"""What Evolution shows."""
