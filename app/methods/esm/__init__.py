"""What episodic steering memory shows."""
