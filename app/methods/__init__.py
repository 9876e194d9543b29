"""What each method shows, said once: its cases, its results, its training."""
