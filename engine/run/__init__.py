"""A run: its folder, its log, its control, its stages and the worker that takes them up."""
