"""Conversations under a standing instruction of IFEval."""
