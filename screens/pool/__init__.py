"""The screen of the demonstration pool."""
