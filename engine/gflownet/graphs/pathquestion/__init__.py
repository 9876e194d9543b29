"""PathQuestion: questions with gold paths over a small knowledge base."""
