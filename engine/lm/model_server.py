"""What the evolution asks of whatever answers its questions: a server of its own, or the model in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.lm.protocol import LanguageModel, LogitsProcessor, Request, Sampling


@dataclass(frozen=True)
class Answer:
    """`tokens`: ids of the answer, without the token that ended it; `finished`: not cut by the budget."""

    text: str
    tokens: list[int]
    finished: bool = True


@dataclass(frozen=True)
class Ask:
    """One question: the user's message, the budget in tokens, and the seed of its random draws."""

    prompt: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0


class ModelServer(Protocol):
    """Serves one model under one logits processor at a time (spec Evolution 2)."""

    name: str

    def stop(self) -> None:
        """Free the device. A server that does not run stays as it is."""
        ...

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None:
        """Serve with the generated file `processor`, or without any. Returns when answers can be had; raises
        ModelError with the last lines of the log where they cannot. `checkpoint` may block or raise meanwhile."""
        ...

    def answer(self, asks: Sequence[Ask], checkpoint: Callable[[], None]) -> list[Answer]:
        """One answer a question, in order. `checkpoint` may block or raise: what was not returned is lost."""
        ...

    def log_tail(self) -> list[str]:
        """The last lines it wrote."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class InProcessServer:
    """The configured language model, in this process."""

    def __init__(
        self,
        load: Callable[[], LanguageModel],
        load_processor: Callable[[Path], LogitsProcessor],
    ) -> None:
        self.name = "in process"
        self._load = load
        self._load_processor = load_processor
        self._processor: LogitsProcessor | None = None
        self._log: list[str] = []

    def stop(self) -> None:
        """Nothing to free: processor and model are small beside what embeds the vocabulary."""
        self._processor = None

    def start(self, processor: Path | None, checkpoint: Callable[[], None]) -> None:
        self._processor = None if processor is None else self._load_processor(processor)
        self._log = [
            f"serving {self._load().info.name} with {processor.name if processor else 'no processor'}"
        ]

    def answer(self, asks: Sequence[Ask], checkpoint: Callable[[], None]) -> list[Answer]:
        model = self._load()
        requests = [
            Request(
                model.tokenizer.encode_chat(ask.prompt),
                Sampling(ask.max_tokens, ask.temperature),
                seed=ask.seed,
            )
            for ask in asks
        ]
        completions = model.generate(requests, logits_processor=self._processor, checkpoint=checkpoint)
        ends = model.tokenizer.eos_token_ids
        return [
            Answer(
                completion.text,
                [token for token in completion.tokens if token not in ends],
                finished=completion.ended == "eos",
            )
            for completion in completions
        ]

    def log_tail(self) -> list[str]:
        return list(self._log)

    def close(self) -> None:
        self.stop()
