"""Two runs compared, in words and tables, for the console, batch and reports."""
