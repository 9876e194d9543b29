"""Who proposes new deltas, and what it is asked."""
