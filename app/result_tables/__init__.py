"""The result tables at the end of batch, a file for each method."""
