"""What the steered server shows."""
