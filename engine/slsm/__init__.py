"""Memory notes of a conversation: what they know, when they are injected, what they cost (spec SLSM)."""
