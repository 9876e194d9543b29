"""A sweep: its settings, what they reached, and a map of any two fields."""
