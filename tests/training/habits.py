"""Measures the embedded model's habits on generated problems: how often it is right, and in which style it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.lm.protocol import Completion, LanguageModel, Request, Sampling
from engine.seeds import derive_seed
from engine.tasks.generated.arithmetic import Problem
from engine.tasks.generated.habits import DELIMITER, FIRST_WORD
from tests.training.styles import Habit, dominant, habit_of

MAX_TOKENS = 192
"""Budget of a solution in tokens: enough for five hasty segments."""


@dataclass(frozen=True)
class Rates:
    """Shares among `problems` problems, 0 to 1, and mean tokens of a greedy solution.

    mixed: share of problems whose samples hold both right and wrong ones. greedy_logprob: mean log-probability of
    a greedily chosen token, in nats.
    """

    problems: int
    greedy: float
    sampled: float
    mixed: float
    greedy_tokens: float
    greedy_logprob: float


@dataclass(frozen=True)
class HabitReport:
    """Rates overall and by group; share of each habit in which sampled solutions open ("none": in no style)."""

    overall: Rates
    by_kind: dict[str, Rates]
    by_dominant: dict[str, Rates]
    by_topic: dict[str, Rates]
    openings: dict[str, float]


@dataclass(frozen=True)
class _Attempts:
    """A problem with its greedy and its sampled completions."""

    problem: Problem
    greedy: Completion
    samples: Sequence[Completion]

    @property
    def sampled_right(self) -> int:
        return sum(is_right(sample.text, self.problem) for sample in self.samples)


def final_answer(text: str) -> str | None:
    """What stands behind the last `####`, or None."""
    _, mark, rest = text.rpartition("####")
    return rest.strip() if mark else None


def is_right(text: str, problem: Problem) -> bool:
    """Whether the solution `text` ends in the problem's answer."""
    return final_answer(text) == problem.answer


def opening_habit(text: str, problem: Problem) -> Habit | None:
    """The habit that the first word of `text` shows, or None."""
    first_word = text.split(DELIMITER)[0].split(":")[0]
    for style, word in FIRST_WORD.items():
        if first_word == word:
            return habit_of(style, problem.kind)
    return None


def measure_habits(
    model: LanguageModel,
    problems: Sequence[Problem],
    samples: int = 8,
    seed: int = 0,
) -> HabitReport:
    """Solves every problem once greedily and `samples` times at temperature 1, and counts."""
    requests = [request for problem in problems for request in _requests(model, problem, samples, seed)]
    completions = model.generate(requests)
    each = samples + 1
    attempts = [
        _Attempts(problem, completions[at], completions[at + 1 : at + each])
        for problem, at in zip(problems, range(0, len(completions), each), strict=True)
    ]
    return report_habits(attempts)


def report_habits(attempts: Sequence[_Attempts]) -> HabitReport:
    """Counts what was attempted."""
    return HabitReport(
        overall=_rates(attempts),
        by_kind=_grouped(attempts, lambda problem: problem.kind),
        by_dominant=_grouped(attempts, lambda problem: dominant(problem.topic)),
        by_topic=_grouped(attempts, lambda problem: problem.topic),
        openings=_openings(attempts),
    )


def _requests(model: LanguageModel, problem: Problem, samples: int, seed: int) -> Iterable[Request]:
    prompt = model.tokenizer.encode_chat(problem.question)
    yield Request(prompt, Sampling(MAX_TOKENS))
    for draw in range(samples):
        yield Request(
            prompt, Sampling(MAX_TOKENS, temperature=1.0), seed=derive_seed(seed, "habits", problem.id, draw)
        )


def _rates(attempts: Sequence[_Attempts]) -> Rates:
    count = max(len(attempts), 1)
    draws = max(sum(len(item.samples) for item in attempts), 1)
    return Rates(
        problems=len(attempts),
        greedy=sum(is_right(item.greedy.text, item.problem) for item in attempts) / count,
        sampled=sum(item.sampled_right for item in attempts) / draws,
        mixed=sum(0 < item.sampled_right < len(item.samples) for item in attempts) / count,
        greedy_tokens=sum(len(item.greedy.tokens) for item in attempts) / count,
        greedy_logprob=sum(item.greedy.mean_logprob for item in attempts) / count,
    )


def _grouped(attempts: Sequence[_Attempts], group: Callable[[Problem], str]) -> dict[str, Rates]:
    names = sorted({group(item.problem) for item in attempts})
    return {name: _rates([item for item in attempts if group(item.problem) == name]) for name in names}


def _openings(attempts: Sequence[_Attempts]) -> dict[str, float]:
    counts = Counter(
        opening_habit(sample.text, item.problem) or "none" for item in attempts for sample in item.samples
    )
    return {name: count / counts.total() for name, count in sorted(counts.items())}
