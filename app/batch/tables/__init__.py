"""The tables of results that batch ends with, a file for each method."""
