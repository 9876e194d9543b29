"""The interface to the model that answers the evolution's questions: a server, or the model in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from engine.lm.kept_texts import NamedProcessor
from engine.lm.protocol import Completion, LanguageModel, LogitsProcessor, Request, Sampling, ignore


@dataclass(frozen=True)
class ModelAnswer:
    """A model's answer. `tokens`: its ids, without the end-of-sequence token; `finished`: not cut by the budget."""

    text: str
    tokens: list[int]
    finished: bool = True


@dataclass(frozen=True)
class ModelQuestion:
    """A question to a model: the user's message, the budget in tokens, the seed of the sampling, and a system message
    if there is one."""

    prompt: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    system: str | None = None


OnAnswer = Callable[[int, ModelAnswer], None]
"""Called once for each question, as soon as it is answered, with its number and the answer."""


class ModelServer(Protocol):
    """Serves one model under one logits processor at a time (spec Evolution 2)."""

    name: str

    def stop(self) -> None:
        """End the server and free the device; nothing happens where no server runs."""
        ...

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None:
        """Serve with the generated file `processor`, or without any. Returns when the server answers; raises
        ModelError with the last lines of its log where it does not. `checkpoint` may block or raise meanwhile."""
        ...

    def answer(
        self, questions: Sequence[ModelQuestion], checkpoint: Callable[[], None], answered: OnAnswer = ignore
    ) -> list[ModelAnswer]:
        """The answer to each question, in order. `checkpoint` may block or raise: answers not returned are lost."""
        ...

    def log_tail(self) -> list[str]:
        """The last lines of the server's log."""
        ...


def answer_questions(
    model: LanguageModel,
    questions: Sequence[ModelQuestion],
    processor: LogitsProcessor | None,
    answered: OnAnswer = ignore,
) -> list[ModelAnswer]:
    """A language model's answer to each question, in order."""
    requests = [
        Request(
            model.tokenizer.encode_chat(question.prompt, question.system),
            Sampling(question.max_tokens, question.temperature),
            seed=question.seed,
        )
        for question in questions
    ]
    ends, answers = model.tokenizer.eos_token_ids, dict[int, ModelAnswer]()

    def take(number: int, done: Completion) -> None:
        tokens = [token for token in done.tokens if token not in ends]
        answers[number] = ModelAnswer(done.text, tokens, finished=done.ended == "eos")
        answered(number, answers[number])

    model.generate(requests, logits_processor=processor, finished=take)
    return [answers[number] for number in range(len(questions))]


class InProcessServer:
    """`ModelServer` over the configured language model in this process."""

    def __init__(
        self, load: Callable[[], LanguageModel], load_processor: Callable[[Path], LogitsProcessor]
    ) -> None:
        self.name = "in process"
        self._load = load
        self._load_processor = load_processor
        self._processor: LogitsProcessor | None = None
        self._log: list[str] = []

    def stop(self) -> None:
        """Drop the processor; the model stays loaded: it is small beside the embedder of the vocabulary."""
        self._processor = None

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None:
        self._processor = None
        if processor is not None:
            digest = sha256(processor.read_bytes()).hexdigest()
            self._processor = NamedProcessor(self._load_processor(processor), digest)
        under = processor.name if processor else "no processor"
        self._log = [f"serving {self._load().info.name} with {under}"]

    def answer(
        self, questions: Sequence[ModelQuestion], checkpoint: Callable[[], None], answered: OnAnswer = ignore
    ) -> list[ModelAnswer]:
        return answer_questions(self._load(), questions, self._processor, answered)

    def log_tail(self) -> list[str]:
        return list(self._log)
