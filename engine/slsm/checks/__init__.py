"""Checks of instructions by program."""
