"""The screen of the steered server."""
