"""How the included models are made: documents, tokenizer, corpus, training, and the measuring of their habits.

A tool beside the tests: the package ships the models, not their training.
"""
