"""Snapshots of what was read from long logs, kept in the user's cache folder, so that a run opens again at once."""
