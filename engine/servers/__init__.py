"""Asking servers that speak OpenAI's chat completions."""
