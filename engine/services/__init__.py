"""Processes that answer the console: conversations, answers under another choice."""
