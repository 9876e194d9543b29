"""A recorded answer under another choice: what all methods' screens for it have in common."""
