"""The demonstration pool: 64 candidates a query, positives from the whole table, only improvements kept (spec Pool)."""
