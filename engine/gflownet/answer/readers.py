"""Readers, which answer from evidence: a language model, here or behind a server, or an offline path follower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.config.gflownet import AnswerSection
from engine.custom_class import is_custom, make_custom
from engine.events import PathStep
from engine.gflownet.evaluation.path_prompt import EvidencePrompt, rough_tokens
from engine.lm.embedding.sentence_embedder import SentenceEmbedder
from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.run.stage import StageContext
from engine.servers.client import OpenAIClient, ServerFailed
from engine.servers.side_by_side import ServerFailures, for_each_side_by_side

SYSTEM = (
    "Answer the question from the triplets (head, relation, tail). List every answer on a line of its own, and nothing "
    "else. If the triplets do not hold the answer, write: unknown."
)
LONGEST_PATH = 4
_OF_ONE_QUESTION = 2
"""Prompts about the same words, which a server may refuse for a reason that it words otherwise."""
AT_ONCE = 4
"""Requests to a server."""


@dataclass(frozen=True)
class Reading:
    """What a reader says to a prompt. `cut`: it ends at the limit of tokens; `failure`: why it says nothing to this
    prompt, where it may answer others."""

    text: str
    cut: bool = False
    failure: str = ""


class Reader(Protocol):
    """Answers prompts."""

    name: str

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, by the reading model's tokenizer if that is known."""
        ...

    def read(
        self, prompts: Sequence[EvidencePrompt], checkpoint: Callable[[], None]
    ) -> Sequence[str | Reading]:
        """One answer a prompt, in order: names, a line each."""
        ...


class PathReader:
    """Offline. Walks the prompt's triples from the entities that the question names, and answers with the ends of
    the paths whose wording is nearest to the question's. It sees nothing but question and triples."""

    def __init__(self, embedder: SentenceEmbedder) -> None:
        self.name = f"path reader (offline, {embedder.name})"
        self._embedder = embedder

    def count_tokens(self, text: str) -> int:
        """Words and signs."""
        return rough_tokens(text)

    def read(self, prompts: Sequence[EvidencePrompt], checkpoint: Callable[[], None]) -> list[str]:
        answers = []
        for prompt in prompts:
            checkpoint()
            answers.append(self._answer(prompt))
        return answers

    def _answer(self, prompt: EvidencePrompt) -> str:
        ends = _ends_by_wording(prompt)
        if not ends:
            return "unknown"
        wordings = list(ends)
        rows = self._embedder.embed([prompt.question, *wordings])
        best = int(np.argmax(rows[1:] @ rows[0]))
        return "\n".join(ends[wordings[best]])


def _ends_by_wording(prompt: EvidencePrompt) -> dict[str, list[str]]:
    """`relation of relation of start` -> where such paths end; several starts are worded together where they meet."""
    leaving: dict[str, list[PathStep]] = {}
    for triple in prompt.triples:
        leaving.setdefault(triple.head, []).append(triple)
    starts = [head for head in leaving if head in prompt.question]
    ends: dict[str, dict[str, set[str]]] = {}
    for start in starts:
        paths = [((), start, frozenset([start]))]
        for _ in range(LONGEST_PATH):
            paths = [
                ((*relations, step.relation), step.tail, seen | {step.tail})
                for relations, here, seen in paths
                for step in leaving.get(here, ())
                if step.tail not in seen
            ]
            for relations, end, _ in paths:
                chain = " of the ".join(reversed(relations))
                ends.setdefault(chain, {}).setdefault(end, set()).add(start)
    worded: dict[str, list[str]] = {}
    for chain, reached in ends.items():
        most = max(map(len, reached.values()))
        together = sorted(set().union(*(starts for starts in reached.values() if len(starts) == most)))
        worded[f"{chain} of {' and '.join(together)}"] = [
            end for end, starts in reached.items() if len(starts) == most
        ]
    return worded


class ModelReader:
    """A language model loaded in this process."""

    def __init__(self, model: LanguageModel, max_new_tokens: int, system: str = SYSTEM) -> None:
        self.name = model.info.name
        self._model = model
        self._system = system
        self._sampling = Sampling(max_new_tokens)

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text))

    def read(self, prompts: Sequence[EvidencePrompt], checkpoint: Callable[[], None]) -> list[Reading]:
        encode = self._model.tokenizer.encode_chat
        requests = [Request(encode(prompt.text, self._system), self._sampling) for prompt in prompts]
        return [
            Reading(completion.text, cut=completion.ended == "length")
            for completion in self._model.generate(requests)
        ]


class OpenAIReader:
    """A model behind an OpenAI-compatible server, asked a few questions at once."""

    def __init__(self, client: OpenAIClient, name: str, system: str = SYSTEM) -> None:
        self.name = name
        self._client = client
        self._system = system

    def count_tokens(self, text: str) -> int:
        """Words and signs: the server's tokenizer is not known here."""
        return rough_tokens(text)

    def read(self, prompts: Sequence[EvidencePrompt], checkpoint: Callable[[], None]) -> list[Reading]:
        readings: dict[int, Reading] = {}
        self.read_each(prompts, checkpoint, readings.__setitem__)
        return [readings[place] for place in range(len(prompts))]

    def read_each(
        self,
        prompts: Sequence[EvidencePrompt],
        checkpoint: Callable[[], None],
        keep: Callable[[int, Reading], None],
    ) -> None:
        """`read`, whose answers come as they arrive, each with its prompt's place. Raises ServerFailed where the server
        answers nothing, or refuses many prompts in a row, or all, for another reason than what is in them."""
        failures = ServerFailures[tuple[int, Reading]](lambda read: keep(*read))

        def take(prompt: tuple[int, EvidencePrompt], answer: tuple[Reading, ServerFailed | None]) -> None:
            failures.take((prompt[0], answer[0]), answer[1])

        for_each_side_by_side(lambda one: self._answer(one[1]), enumerate(prompts), AT_ONCE, take, checkpoint)
        failures.end(len(prompts) if len(prompts) > _OF_ONE_QUESTION else 0)

    def _answer(self, prompt: EvidencePrompt) -> tuple[Reading, ServerFailed | None]:
        """The second: the server refuses this prompt, and may refuse any."""
        messages = [{"role": "system", "content": self._system}, {"role": "user", "content": prompt.text}]
        try:
            reply = self._client.complete(messages)
        except ServerFailed as error:
            if not error.refused:
                raise
            return Reading("", failure=error.what), None if error.content else error
        failure = ""
        if not reply.text.strip():
            failure = f"the model refused: {reply.refusal[:200]}" if reply.refusal else ""
            failure = failure or f"the answer is empty ({reply.finish_reason})"
        return Reading(reply.text, reply.finish_reason == "length", failure), None


def system_message(section: AnswerSection) -> str:
    """What a language model is told to do with the evidence."""
    return section.system or SYSTEM


def make_reader(context: StageContext, embedder: Callable[[], SentenceEmbedder]) -> Reader:
    """The reader `answer.reader`. Raises ConfigError for a missing API key, ModelError for a model."""
    section = context.config.answer
    system = system_message(section)
    if section.reader == "openai":
        client = context.client(section.openai, "model", "answer.openai")
        return OpenAIReader(client, section.openai.model, system)
    if is_custom(section.reader):
        return make_custom(section.reader, "answer.reader", Reader)
    if section.reader == "model":
        model = context.load_model(section.model or context.config.model)
        return ModelReader(model, section.max_new_tokens, system)
    return PathReader(embedder())
