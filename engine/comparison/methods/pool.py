"""Pool: training queries before and after injection, and every method's pick for the held-out queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.comparison.methods.reader import Criterion, MethodReader, Outcome
from engine.comparison.trace import Step
from engine.events import PoolQueryDone, SelectorPick, SelectorPicked

_FULLY = 1 - 1e-6
_BEFORE, _AFTER = "before injection", "after injection"
_BEST_PAIR = Criterion("pool", "the best pair known in the pool is answered fully right")
_PICKED_PAIR = Criterion("selector", "the picked pair is answered fully right")


class PoolReader(MethodReader):
    """The score is VQA accuracy: of the best pair known in a pool, or the mean over a method's picks. Several picks (of
    `random`) have a mean, and no right or wrong."""

    system = "Pool"
    kinds = (PoolQueryDone, SelectorPicked)
    criteria = {_BEFORE: _BEST_PAIR, _AFTER: _BEST_PAIR, "": _PICKED_PAIR}

    def outcomes(self, event: PoolQueryDone | SelectorPicked) -> Iterable[Outcome]:
        if isinstance(event, PoolQueryDone):
            yield _outcome(_BEFORE, event, [event.oracle_before])
            yield _outcome(_AFTER, event, [event.oracle_after])
        else:
            for name in dict.fromkeys(pick.method for pick in event.picks):
                yield _outcome(name, event, [pick.score for pick in event.picks if pick.method == name])

    def steps_of(self, event: PoolQueryDone | SelectorPicked, arm: str) -> Iterable[Step]:
        if isinstance(event, PoolQueryDone):
            return _injection(event)
        picks = [pick for pick in event.picks if pick.method == arm]
        return [_pick(number, pick, len(picks)) for number, pick in enumerate(picks, 1)]


def _outcome(arm: str, event: PoolQueryDone | SelectorPicked, scores: Sequence[float | None]) -> Outcome:
    known = [score for score in scores if score is not None]
    mean = sum(known) / len(known) if known and len(known) == len(scores) else None
    right = mean >= _FULLY if mean is not None and len(scores) == 1 else None
    people = ", ".join(f"{answer}×{count}" for answer, count in sorted(event.answers.items()))
    asked = "\n".join((event.question, people, event.picture))
    return Outcome(arm, event.query_id, event.question, asked, mean, right)


def _pick(number: int, pick: SelectorPick, picks: int) -> Step:
    name = f"pick {number}" if picks > 1 else "pick"
    decided = {"pair": ", ".join(map(str, pick.pair)), "score": pick.score}
    return Step(name, name, decided, {"probability": pick.probability}, pick.answer)


def _injection(event: PoolQueryDone) -> list[Step]:
    new = ", ".join(str(event.pool_after[place]) for place in event.injected if place < len(event.pool_after))
    best = sorted(event.trajectories, key=lambda t: -(t.score or 0.0))[:5]
    lines = [f"{t.pair[0]}, {t.pair[1]}: {t.score} ({t.origin}, {t.verdict})" for t in best]
    return [
        Step("pool", "pool as it came", {"rows": ", ".join(map(str, event.pool_before))}),
        Step("mined", "best pairs", {}, text="\n".join(lines)),
        Step("injected", "injected rows", {"rows": new or "none"}),
        Step("oracle", "best score", {"before": event.oracle_before, "after": event.oracle_after}),
    ]
