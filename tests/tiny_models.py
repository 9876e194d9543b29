"""Small random causal models with a small byte-level tokenizer, saved as folders like any downloaded model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers.utils import logging as hf_logging

TEXT = [
    "Ann has 12 apples.\n\nShe buys 3 more.\n\n12 + 3 = 15.\n\n#### 15",
    "Ben has 40 pens.\n\nHe gives 7 away.\n\n40 - 7 = 33.\n\n#### 33\n\n\n\n",
    "état naïve: été, ça — c'est déjà là.\n\n  two  spaces\n",
] * 4

EXTRA_EOS = tuple(range(60, 66))
"""Ordinary tokens that the generation settings also call an end, so that random models end now and then."""

ARCHITECTURES = ("qwen2", "llama", "gpt2", "gpt_neox", "gemma2", "phi3", "mistral")

EXPERTS = ("mixtral", "qwen3_moe", "gpt_oss")
"""Mixtures of experts: torch multiplies their matrices in float32 at most."""

USUAL = (
    "llama", "llama_tied", "qwen2", "qwen2_windows", "qwen3", "mistral", "gemma2", "gemma3_text", "gemma3", "phi",
    "phi3", "olmo2", "gpt2", "falcon", *EXPERTS,
)  # fmt: skip
"""The architectures that are used most, each in the forms that differ: tied or own output weights, one or several
kinds of layers, with or without an image part."""

WINDOW = 6
"""Tokens that a layer with a sliding window sees."""


def tiny_tokenizer(chat_template: str | None = None) -> Any:
    """Byte-level BPE in which line breaks come alone, doubled, and merged into `.\\n\\n`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<eos>", "<|user|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")
    fast.chat_template = chat_template
    return fast


def tiny_config(architecture: str, vocab_size: int, hidden_size: int = 32) -> Any:
    """Configuration of a random model: 3 layers, 4 heads."""
    common: dict[str, Any] = {
        "vocab_size": vocab_size,
        "hidden_size": hidden_size,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 512,
        "bos_token_id": None,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }
    grouped: dict[str, Any] = {**common, "num_key_value_heads": 2}
    with_heads: dict[str, Any] = {**grouped, "head_dim": hidden_size // 4}
    experts: dict[str, Any] = {"num_experts_per_tok": 2, "num_local_experts": 4}
    makers: dict[str, Any] = {
        "qwen2": lambda: transformers.Qwen2Config(**grouped),
        "llama": lambda: transformers.LlamaConfig(**grouped),
        "llama_tied": lambda: transformers.LlamaConfig(**grouped, tie_word_embeddings=True),
        "qwen2_windows": lambda: transformers.Qwen2Config(
            **grouped, use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1
        ),
        "qwen3": lambda: transformers.Qwen3Config(**with_heads),
        "gemma2": lambda: transformers.Gemma2Config(
            **with_heads, sliding_window=WINDOW, attn_logit_softcapping=0.5
        ),
        "gemma3_text": lambda: _gemma3(with_heads),
        "gemma3": lambda: _with_images(_gemma3(with_heads)),
        "phi": lambda: transformers.PhiConfig(**grouped),
        "olmo2": lambda: transformers.Olmo2Config(**grouped),
        "falcon": lambda: transformers.FalconConfig(**common),
        "mixtral": lambda: transformers.MixtralConfig(**grouped, **experts),
        "qwen3_moe": lambda: transformers.Qwen3MoeConfig(
            **with_heads, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32
        ),
        "gpt_oss": lambda: transformers.GptOssConfig(**with_heads, **experts, sliding_window=WINDOW),
        "phi3": lambda: transformers.Phi3Config(**grouped),
        "mistral": lambda: transformers.MistralConfig(**grouped, sliding_window=WINDOW),
        "gpt_neox": lambda: transformers.GPTNeoXConfig(**common),
        "gpt2": lambda: transformers.GPT2Config(
            vocab_size=vocab_size,
            n_embd=hidden_size,
            n_layer=3,
            n_head=4,
            n_positions=512,
            eos_token_id=0,
            bos_token_id=0,
        ),
    }
    return makers[architecture]()


def _gemma3(settings: dict[str, Any]) -> Any:
    """Layers 0 and 2 see a window, layer 1 the whole text, each kind with rotary frequencies of its own."""
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    return transformers.Gemma3TextConfig(**settings, sliding_window=WINDOW, layer_types=kinds)


def _with_images(text: Any) -> Any:
    """A model that also takes images, with as many layers in its image part as in its text part."""
    images: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": text.num_hidden_layers,
    }
    sizes = {"num_attention_heads": 2, "image_size": 28, "patch_size": 14}
    return transformers.Gemma3Config(text_config=text.to_dict(), vision_config={**images, **sizes})


def save_tiny(
    folder: Path,
    architecture: str = "qwen2",
    chat_template: str | None = None,
    seed: int = 0,
    hidden_size: int = 32,
) -> Path:
    """Write a random model and its tokenizer into a folder."""
    tokenizer = tiny_tokenizer(chat_template)
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(
        tiny_config(architecture, len(tokenizer), hidden_size)
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Wider than usual: a random model with small weights says the same token for ever.
            if parameter.dim() > 1:
                # Gemma multiplies embeddings by sqrt(hidden_size): wide ones would repeat the last token for ever.
                scaled = architecture.startswith("gemma") and "embed_tokens" in name
                parameter.normal_(std=0.35 * (32 / hidden_size) ** 0.5 / (hidden_size**0.5 if scaled else 1))
            elif "bias" in name:
                parameter.normal_(std=0.1)
    model.generation_config.eos_token_id = [0, *EXTRA_EOS]
    bars = hf_logging.is_progress_bar_enabled()
    hf_logging.disable_progress_bar()
    model.save_pretrained(folder)
    if bars:
        hf_logging.enable_progress_bar()
    tokenizer.save_pretrained(folder)
    return folder
