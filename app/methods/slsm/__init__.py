"""What SLSM shows."""
