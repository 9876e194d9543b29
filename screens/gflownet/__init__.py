"""The screen of evidence paths."""
