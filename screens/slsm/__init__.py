"""The screen of memory notes."""
