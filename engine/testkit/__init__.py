"""The test kit for classes of the user's own: tries one out as its role would, and tells what it does wrong."""
