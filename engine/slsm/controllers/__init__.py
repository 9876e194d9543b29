"""Controllers: they keep the state of a conversation and detect conflicts."""
