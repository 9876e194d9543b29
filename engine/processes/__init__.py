"""Processes that are started and that leave nothing behind."""
