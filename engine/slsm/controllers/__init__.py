"""Who keeps the state of a conversation."""
