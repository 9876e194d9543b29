"""Runs without a console."""
