"""A sweep in words, figures and tables, for the console and batch."""
