"""The text side of a model, over a tokenizer of the transformers library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from jinja2 import TemplateError

from engine.errors import ModelError
from engine.lm.chat_template import takes_powers, within_limits

_TIMES, _BESIDE = 16, 1 << 20
"""Characters that a chat template may make of a conversation: as often its own, and as many beside."""


class HfTokenizer:
    """`Tokenizer` over a transformers tokenizer. `eos`: further ids that end a text, e.g. from the
    generation settings; the tokenizer's own id is always included."""

    def __init__(self, tokenizer: Any, eos: Iterable[int] = ()) -> None:
        self._tokenizer = tokenizer
        default = tokenizer.eos_token_id
        self.eos_token_ids: frozenset[int] = frozenset(eos) | ({default} if default is not None else set())

    @property
    def longest_token(self) -> int:
        """Characters of the longest token: a text of n characters has at least n / longest_token tokens."""
        return self._longest_token

    @cached_property
    def _longest_token(self) -> int:
        return max(map(len, self._tokenizer.get_vocab()), default=1)

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text, no special tokens added."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, special tokens left out, white space exactly as it was generated."""
        return self._tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """The text that each token adds, special tokens by their names. Of a character in several tokens, the last one
        has it, and the others nothing."""
        pieces: list[str] = []
        before = start = (
            0  # the tokens from `before` on are decoded again: the first of a text may lose its space
        )
        for end in range(1, len(tokens) + 1):
            text = self._with_special(tuple(tokens[before:end]))
            if text.endswith("\ufffd") and end < len(tokens):
                pieces.append("")
                continue
            pieces.append(text[len(self._with_special(tuple(tokens[before:start]))) :])
            before, start = start, end
        return pieces

    @cached_property
    def _with_special(self) -> Callable[[tuple[int, ...]], str]:
        """The text of a few tokens; texts repeat, and decoding is slow."""
        decode = self._tokenizer.decode
        return lru_cache(1 << 16)(lambda tokens: decode(list(tokens), clean_up_tokenization_spaces=False))

    def encode_chat(self, user: str, system: str | None = None) -> list[int]:
        """Token ids of a one-turn conversation up to where the assistant begins."""
        first = [] if system is None else [{"role": "system", "content": system}]
        return self.encode_messages([*first, {"role": "user", "content": user}])

    def encode_messages(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Token ids of a conversation up to where the assistant's next answer begins.

        Without a chat template: the tokens that the tokenizer puts before every text (a begin-of-text token, or
        none), then the messages, each followed by an empty line."""
        if not getattr(self._tokenizer, "chat_template", None):
            text = "".join(f"{message['content']}\n\n" for message in messages if message["content"])
            return [*self._opening(), *self.encode(text)]
        return self.encode(self._render(messages))

    def _opening(self) -> list[int]:
        """Special tokens that the tokenizer puts before a text, without those that it puts after it."""
        plain = self.encode("a")
        full = list(self._tokenizer.encode("a", add_special_tokens=True))
        for start in range(len(full) - len(plain) + 1):
            if full[start : start + len(plain)] == plain:
                return full[:start]
        return []

    def _render(self, messages: Sequence[dict[str, str]]) -> str:
        try:
            try:
                return self._apply(messages)
            except TemplateError:
                # Some templates (such as Gemma's) refuse a system role, or two messages of one role in a row.
                return self._apply(_in_turns(messages))
        except Exception as error:  # a template is code of whoever made the model: it raises what it likes
            why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            raise _template_error(why, str(getattr(self._tokenizer, "name_or_path", ""))) from error

    def _apply(self, messages: Sequence[dict[str, str]]) -> str:
        template = self._tokenizer.chat_template
        if isinstance(template, str) and takes_powers(template):
            raise ValueError("it takes powers of numbers, which may never end")
        text = within_limits(
            lambda: self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True
            )
        )
        given = sum(len(message["content"]) for message in messages)
        if len(text) > _TIMES * given + _BESIDE:
            raise ValueError(f"it makes {len(text):,} characters of {given:,}")
        return text


def _in_turns(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The messages as they alternate: a system message is the user's, those of one role in a row are one."""
    by_role = groupby(messages, lambda message: message["role"].replace("system", "user"))
    return [{"role": role, "content": "\n\n".join(one["content"] for one in same)} for role, same in by_role]


def _template_error(why: str, model: str) -> ModelError:
    return ModelError(
        what=f"the model's chat template fails: {why}",
        where=f"chat_template in {model or 'the folder of the model'}",
        hint="copy the model's tokenizer files again, or take a model whose template takes such conversations",
    )
