"""The test kit for custom classes: tries one out as its role would, and reports what it does wrong."""
