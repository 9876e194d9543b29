"""ESM, episodic steering memory: mine, select, memory, eval."""
