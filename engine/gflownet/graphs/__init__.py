"""From questions and triples to graphs."""
