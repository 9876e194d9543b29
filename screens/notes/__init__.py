"""The list of marks and notes."""
