"""The configuration of a run: its sections, and how they are read from YAML and Kconfig."""
