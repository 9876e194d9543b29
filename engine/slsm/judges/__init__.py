"""Judges of answers, and scores."""
