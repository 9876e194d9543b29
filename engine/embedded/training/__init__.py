"""How the embedded model is made: documents, tokenizer, corpus, training, and the measuring of its habits."""
