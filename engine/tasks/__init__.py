"""Data sets, prompts, answer extraction and metrics."""
