"""A tiny model whose logits have more rows than its tokenizer has tokens, as most published models do."""

from __future__ import annotations

from pathlib import Path

import transformers

from engine.lm.loading.pretrained import quiet
from tests.tiny_models import save_tiny

PADDING = 16


def save_padded(folder: Path) -> Path:
    """Write it into `folder`. (Of the Phi 3 kind: a loader adds no token of its own to its tokenizer.)"""
    save_tiny(folder, "phi3")
    with quiet():
        model = transformers.AutoModelForCausalLM.from_pretrained(folder)
        model.resize_token_embeddings(model.config.vocab_size + PADDING, mean_resizing=False)
        model.save_pretrained(folder)
    return folder
