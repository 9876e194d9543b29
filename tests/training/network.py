"""The embedded model before training: a Qwen2 configuration and its initial weights."""

from __future__ import annotations

from typing import Any

import torch
from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM

from tests.training.settings import TrainingSettings

LONGEST = 1024
"""Positions the configuration admits, in tokens."""


def build_model(settings: TrainingSettings, tokenizer: Any) -> Qwen2ForCausalLM:
    """A float32 model with initial weights drawn from `settings.seed`; the global generator is left as it was."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden_size,
        intermediate_size=settings.feed_forward,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attention_dropout=0.0,
        initializer_range=settings.initial_spread,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = Qwen2ForCausalLM(config).float()
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=False
    )
    return model
