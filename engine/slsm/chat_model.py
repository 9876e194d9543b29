"""Models that answer conversations: a language model in this process, or behind a server."""

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
    """The messages before the answer, and the seed of its sampling."""

    messages: tuple[Message, ...]
    seed: int = 0


@dataclass(frozen=True)
class ChatAnswer:
    """An answer. `spent`: one call, tokens of prompt and answer, cost."""

    text: str
    spent: Spent


class ChatModel(Protocol):
    """Answers conversations."""

    name: str

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None]) -> Iterator[ChatAnswer]:
        """An answer to each ask, in order, as they arrive. Raises SteerError where the model gives none."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text: exact for a local model, a quarter of its characters for a server."""
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
        completions = self._model.generate(requests, checkpoint=checkpoint)
        for prompt, completion in zip(prompts, completions, strict=True):
            yield ChatAnswer(completion.text.strip(), Spent(1, len(prompt) + len(completion.tokens)))

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text))


class OpenAIChatModel:
    """A model behind a server, with up to `concurrency` requests at once."""

    def __init__(self, client: OpenAIClient, name: str, concurrency: int) -> None:
        self.name = name
        self._client = client
        self._concurrency = concurrency

    def answer(self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None]) -> Iterator[ChatAnswer]:
        return map_side_by_side(self._request, asks, self._concurrency)

    def _request(self, ask: ChatAsk) -> ChatAnswer:
        reply = self._client.complete(ask.messages, seed=ask.seed)
        if reply.refusal and not reply.text:
            return ChatAnswer(reply.refusal, reply.spent)
        return ChatAnswer(reply.text.strip(), reply.spent)

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)
