"""`steer-tui compare A B`: two runs compared without a console."""
