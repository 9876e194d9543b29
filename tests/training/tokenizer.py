"""Builds the embedded model's tokenizer: byte-level BPE, single digits, the blank line a token of its own."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from engine.tasks.generated.habits import DELIMITER
from tests.training.documents import Format, draw_document

PAD, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

SPLITTER = Regex(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Qwen2's own splitting (single digits; a word with the space before it): transformers puts it into any tokenizer
that it loads beside a Qwen2 configuration, so merges have to be learned over the same pieces."""


def build_tokenizer(
    formats: Sequence[Format], vocabulary: int, documents: int = 6000, seed: int = 0
) -> PreTrainedTokenizerFast:
    """At most `vocabulary` tokens, merged as in `documents` drawn documents. The same arguments give the same
    tokenizer."""
    core = Tokenizer(models.BPE())
    core.normalizer = normalizers.NFC()
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(SPLITTER, "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - 1,  # one place for the blank line
        special_tokens=[PAD, TURN_START, TURN_END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(_texts(formats, documents, seed), trainer)
    # An added token is cut out before anything else is split, so nothing ever merges with it.
    core.add_tokens([AddedToken(DELIMITER, special=False, normalized=False)])
    return _wrap(core)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Writes tokenizer.json and tokenizer_config.json, the chat template inside."""
    tokenizer.save_pretrained(folder, save_jinja_files=False)


def _wrap(core: Tokenizer) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=TURN_END,
        pad_token=PAD,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def _texts(formats: Sequence[Format], documents: int, seed: int) -> Iterator[str]:
    rng = random.Random(f"tokenizer:{seed}")
    # Role names are plain text to the tokenizer; repeated, so that each becomes one token.
    yield from ["user\n", "assistant\n", "system\n"] * (documents // 4)
    for _ in range(documents):
        document = draw_document(formats, 1.0, rng)
        yield from (text for turn in document.earlier for text in turn)
        if document.prompt is not None:
            yield document.prompt
        yield document.completion
