"""What is shown as blocks (headings, texts, facts, tables, changes), and the three ways to write them."""
