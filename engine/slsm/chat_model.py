"""Models that answer conversations: a language model in this process, or behind a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.lm.protocol import Completion, LanguageModel, Request, Sampling, ignore
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.side_by_side import for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.turns import Message


@dataclass(frozen=True)
class ChatAsk:
    """The messages before the answer, the seed of its sampling, the conversation's id, and the attempt from 0."""

    messages: tuple[Message, ...]
    seed: int = 0
    conversation: str = ""
    attempt: int = 0


@dataclass(frozen=True)
class ChatAnswer:
    """An answer. `spent`: one call, tokens of prompt and answer, cost. `cut`: it ends at the limit of tokens.
    `failure`: why there is none for this conversation, where the model may answer others; `suspect`: it may be the
    server or the configuration instead."""

    text: str
    spent: Spent
    cut: bool = False
    failure: str = ""
    suspect: ServerFailed | None = None


Given = Callable[[int, ChatAnswer], None]
"""Called with the number of an ask and the answer to it."""


class ChatModel(Protocol):
    """Answers conversations."""

    name: str

    def answer(
        self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None], keep: Given, early: Given = ignore
    ) -> None:
        """Call `keep` once for each ask: for a server's answers as they arrive, also before an error is raised; for
        others in order, once all are there, and `early` for each that is written before. Raises SteerError where the
        model gives none."""
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

    def answer(
        self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None], keep: Given, early: Given = ignore
    ) -> None:
        prompts = [self._model.tokenizer.encode_messages(ask.messages) for ask in asks]
        context = self._model.info.context
        fit = [not context or len(prompt) < context - 1 for prompt in prompts]
        requests = [
            Request(prompt, self._sampling, seed=ask.seed)
            for prompt, ask, fits in zip(prompts, asks, fit, strict=True)
            if fits
        ]
        numbers, answers = [n for n, fits in enumerate(fit) if fits], dict[int, ChatAnswer]()

        def take(place: int, done: Completion) -> None:
            number, text = numbers[place], done.text.strip()
            spent = Spent(1, len(prompts[number]) + len(done.tokens))
            failure = _empty(text, done.ended)
            answers[number] = ChatAnswer(text, spent, cut=done.ended == "length", failure=failure)
            early(number, answers[number])

        if requests:
            self._model.generate(requests, finished=take)
        for number, prompt in enumerate(prompts):
            why = f"the conversation has {len(prompt)} tokens, the model's context {context}"
            keep(number, answers.get(number) or ChatAnswer("", Spent(), failure=why))

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text))


class OpenAIChatModel:
    """A model behind a server, with up to `concurrency` requests at once."""

    def __init__(self, client: OpenAIClient, name: str, concurrency: int) -> None:
        self.name = name
        self._client = client
        self._concurrency = concurrency

    def answer(
        self, asks: Sequence[ChatAsk], checkpoint: Callable[[], None], keep: Given, early: Given = ignore
    ) -> None:
        def ask(number: int) -> ChatAnswer:
            return self._request(asks[number])

        for_each_side_by_side(ask, range(len(asks)), self._concurrency, keep, checkpoint)

    def _request(self, ask: ChatAsk) -> ChatAnswer:
        try:
            reply = self._client.complete(ask.messages, seed=ask.seed)
        except ServerFailed as error:
            if not error.refused:
                raise
            return ChatAnswer("", error.spent, failure=error.what, suspect=None if error.content else error)
        text = reply.text.strip() or reply.refusal
        cut = reply.finish_reason == "length"
        return ChatAnswer(text, reply.spent, cut, _empty(text, reply.finish_reason))

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 4)


def answer_of(model: ChatModel, ask: ChatAsk) -> ChatAnswer:
    """The model's answer to one ask."""
    answers: dict[int, ChatAnswer] = {}
    model.answer([ask], lambda: None, answers.__setitem__)
    return answers[0]


def _empty(text: str, ended: str) -> str:
    """Why an answer without a word is none; empty for any other."""
    return "" if text.strip() else f"the answer is empty ({ended})"
