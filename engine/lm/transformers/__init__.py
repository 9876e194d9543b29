"""Language models in this process, with torch and the transformers library."""
