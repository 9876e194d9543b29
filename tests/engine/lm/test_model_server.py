"""What a language model in this process answers as a server, over one that is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from engine.lm.kept_texts import NamedProcessor
from engine.lm.model_server import InProcessServer, ModelAnswer, ModelQuestion, answer_questions
from engine.lm.protocol import Completion, Request, Sampling

END = 9


class Played:
    """Answers the last question first."""

    def __init__(self, *answers: Completion) -> None:
        self.tokenizer = SimpleNamespace(
            eos_token_ids=frozenset({END}),
            encode_chat=lambda user, system: [len(user), 0 if system is None else len(system)],
        )
        self.info = SimpleNamespace(name="tiny")
        self.answers = answers
        self.requests: list[Request] = []
        self.processors: list[Any] = []

    def generate(
        self, requests: Sequence[Request], logits_processor: Any, finished: Callable[[int, Completion], None]
    ) -> None:
        self.requests += requests
        self.processors.append(logits_processor)
        for number in reversed(range(len(requests))):
            finished(number, self.answers[number])


def test_questions_and_answers_keep_their_numbers() -> None:
    model: Any = Played(Completion([1, 2], [], "ab", "length"), Completion([3, END], [], "c", "eos"))
    told: list[tuple[int, str]] = []
    answers = answer_questions(
        model,
        [ModelQuestion("four", 5, 0.5, 7, "system"), ModelQuestion("other", 6)],
        None,
        lambda number, answer: told.append((number, answer.text)),
    )
    assert answers == [ModelAnswer("ab", [1, 2], finished=False), ModelAnswer("c", [3], finished=True)]
    assert told == [(1, "c"), (0, "ab")]
    assert model.requests == [
        Request([4, 6], Sampling(5, 0.5), seed=7),
        Request([5, 0], Sampling(6, 0.0), seed=0),
    ]


def test_a_processor_is_named_by_what_is_in_its_file_until_the_server_stops(tmp_path: Path) -> None:
    """Answers are kept under that name: another processor of the same name must not find them."""
    model: Any = Played()
    server = InProcessServer(lambda: model, lambda path: lambda written, logits: path.read_text())
    file, digests = tmp_path / "processor.py", list[str]()
    for content in ("one", "two", "one"):
        file.write_text(content)
        server.start(file, lambda: None)
        assert server.log_tail() == ["serving tiny with processor.py"]
        server.answer([], lambda: None)
        under = model.processors[-1]
        assert isinstance(under, NamedProcessor) and under([], None) == content
        digests.append(under.digest)
    assert digests[0] == digests[2] != digests[1]
    server.stop()
    server.answer([], lambda: None)
    assert model.processors[-1] is None
    server.start(file, lambda: None)
    server.start(None, lambda: None)
    server.answer([], lambda: None)
    assert server.log_tail() == ["serving tiny with no processor"] and model.processors[-1] is None
