"""The screen of evolution."""
