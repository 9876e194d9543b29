"""Language models behind an SGLang server that the worker starts."""
