"""Processes beside the worker: a conversation, answers under another choice, a rank of a training on several machines."""
