"""Processes beside the worker: a conversation, sampling again, a rank of a training on several machines."""
