"""The project's own knowledge graph and questions over it: offline, and as awkward as published ones."""
