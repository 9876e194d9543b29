"""The screen of ESM."""
