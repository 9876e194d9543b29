"""Runs and the processes of the engine, from the console's side."""
