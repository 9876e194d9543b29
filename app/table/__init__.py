"""Filtering, sorting and finding decisions."""
