"""Who answers the conversations: a language model in this process, or one behind a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.servers.client import OpenAIClient
from engine.servers.side_by_side import map_side_by_side
from engine.servers.spent import Spent
from engine.slsm.turns import Message


@dataclass(frozen=True)
class ChatAsk:
    """Messages up to where the assistant answers; `seed` of the random draws."""

    messages: tuple[Message, ...]
    seed: int = 0


@dataclass(frozen=True)
class ChatAnswer:
    """`spent`: one call, tokens of prompt and answer, cost."""

    text: str
    spent: Spent


class ChatModel(Protocol):
    """Answers conversations."""

    name: str

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None]) -> Iterator[ChatAnswer]:
        """One answer each, in order, as they come. Raises SteerError where one cannot be had."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text: exactly for a local model, about four letters each for a server."""
        ...


class LocalChatModel:
    """A language model of this process."""

    def __init__(self, model: LanguageModel, max_new_tokens: int, temperature: float) -> None:
        self.name = model.info.name
        self._model = model
        self._sampling = Sampling(max_new_tokens, temperature)

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None]) -> Iterator[ChatAnswer]:
        prompts = [self._model.tokenizer.encode_messages(ask.messages) for ask in asks]
        requests = [
            Request(prompt, self._sampling, seed=ask.seed) for prompt, ask in zip(prompts, asks, strict=True)
        ]
        found = self._model.generate(requests, checkpoint=checkpoint)
        for prompt, one in zip(prompts, found, strict=True):
            yield ChatAnswer(one.text.strip(), Spent(1, len(prompt) + len(one.tokens)))

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text))


class OpenAIChatModel:
    """A model behind a server, asked a few conversations at once."""

    def __init__(self, client: OpenAIClient, name: str, concurrency: int) -> None:
        self.name = name
        self._client = client
        self._concurrency = concurrency

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None]) -> Iterator[ChatAnswer]:
        return map_side_by_side(self._one, asks, self._concurrency)

    def _one(self, ask: ChatAsk) -> ChatAnswer:
        reply = self._client.complete(ask.messages, seed=ask.seed)
        if reply.refusal and not reply.text:
            return ChatAnswer(reply.refusal, reply.spent)
        return ChatAnswer(reply.text.strip(), reply.spent)

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)
