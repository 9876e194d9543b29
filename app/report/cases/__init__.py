"""An item of a run in full, as blocks of a document: a file for each method."""
