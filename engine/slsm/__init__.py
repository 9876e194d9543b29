"""Memory notes of a conversation: what they hold, when they are injected and their cost (spec SLSM)."""
