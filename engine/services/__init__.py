"""Processes beside the worker: a conversation, an answer under another choice, a rank of a training."""
