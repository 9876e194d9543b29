"""A whole plausible evolution as events, the same on every machine: for tests and pictures."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import msgspec

from engine import events as ev
from engine.evolution.scoring.score import Outcome, score

BEGIN = 1_760_000_000.0
NAMES = [str(i) for i in range(6)]
WORDS = (("0", ["<|im_end|>"]), ("1", ["4", "1", "$"]), ("2", [" the", " of"]), ("3", ["Based", " provided"]),
         ("4", ["Please", " note"]), ("5", [" revenue", " cash"]))  # fmt: skip
PADDING = [("Based", 3), (" on", 2), (" the", 2), (" statement", 5), (".", 1)]
CORE = [(" Cash", 5), (" was", 2), (" ", 2), ("4", 1), ("1", 1), (".", 1)]


def evolution_events(iterations: int = 5, finish: bool = True, seed: int = 3) -> Iterator[ev.Event]:
    """The run's events in order, stamped."""
    yield from _stamped(_events(iterations, finish, random.Random(seed)))


PUBLISHED = ((0.5, 40.0, 2), (0.8, 20.0, 4), (0.6, 10.0, 2))
"""Composite, mean tokens and right answers of four, of each iteration of `published_events`."""


def published_events(baseline: bool = False) -> Iterator[ev.Event]:
    """A run as the document has it: minibatches decide, and there is no other set; with `baseline` there is one, which
    decides nothing."""
    yield from _stamped(_published(baseline))


def _published(baseline: bool) -> Iterator[ev.Event]:
    yield from list(_events(0, False, random.Random(3)))[:6]
    yield ev.EvolutionBegan(
        clusters=NAMES, iterations=3, minibatch=4, validation=0, test=0, best_by="minibatch", scale=40.0,
        weights=[0.4, 0.6], server="SGLang", judge="gpt-4o", reflector="gpt-4o", questions=30,
    )  # fmt: skip
    if baseline:
        yield from _split(0, "baseline", 6, 0.0, random.Random(3))
    for number, (composite, tokens, right) in enumerate(PUBLISHED):
        yield ev.IterationBegan(iteration=number, deltas=dict.fromkeys(NAMES, -0.1 * number))
        yield ev.AnswersScored(
            iteration=number, split="minibatch", answers=4, judged=4, correct=right, mean_tokens=tokens,
            shortness=1 / (1 + tokens / 40), correctness=right / 4, composite=composite, best=number < 2,
        )  # fmt: skip
        yield ev.ReflectorReplied(
            iteration=number,
            reflector="gpt-4o",
            deltas=dict.fromkeys(NAMES, -0.1 * (number + 1)),
            summary="Shorter.",
        )
        yield ev.IterationFinished(iteration=number)
    yield ev.StageFinished(seconds=9.0, summary={"iterations": 3}, files=["evolution/history.json"])
    yield ev.WorkerStopped(status="finished", stage="evolve")


def _stamped(events: Iterable[ev.Event]) -> Iterator[ev.Event]:
    for seq, event in enumerate(events):
        yield msgspec.structs.replace(event, seq=seq, time=BEGIN + 0.25 * seq, stage=event.stage or "evolve")


def _events(iterations: int, finish: bool, rng: random.Random) -> Iterator[ev.Event]:
    stages = ["clusters", "evolve"]
    yield ev.Header(
        schema_version=1, name="demo", run_id="2025-10-09T08-53-20", seed=0, stages=stages, versions={}
    )
    yield ev.WorkerStarted(pid=4711, attempt=1, stages=stages)
    yield ev.StageStarted(total=1, stage="clusters")
    yield ev.ClustersBuilt(
        tokens=640, stage="clusters", embedder="hashed",
        clusters=[
            ev.TokenCluster(id=name, description=f"cluster {name}", size=20, share=0.1, frequent_tokens=words)
            for name, words in WORDS
        ],
    )  # fmt: skip
    yield ev.StageFinished(seconds=2.0, stage="clusters")
    yield ev.StageStarted(total=iterations, unit="iterations")
    yield ev.EvolutionBegan(
        clusters=NAMES, iterations=iterations, minibatch=4, validation=6, test=4, scale=40.0, weights=[0.4, 0.6],
        server="in process", judge="numeric (offline)", reflector="statistical (offline)", questions=30, cannot_tell=7,
    )  # fmt: skip
    yield ev.ServerChanged(state="healthy", server="in process", log=["serving statements with processor.py"])
    yield from _split(0, "baseline", 6, 0.0, rng)
    deltas = dict.fromkeys(NAMES, 0.0)
    for iteration in range(iterations):
        yield ev.IterationBegan(iteration=iteration, deltas=deltas, examples=[f"q{i}" for i in range(4)])
        yield from _split(iteration, "minibatch", 4, -deltas["3"], rng)
        if iteration % 2 == 0:
            yield from _split(iteration, "validation", 6, -deltas["3"], rng, best=True)
        deltas = {**deltas, "3": round(deltas["3"] - 0.8, 2), "0": round(deltas["0"] + 0.2, 2)}
        yield ev.ReflectorReplied(
            iteration=iteration, reflector="statistical (offline)", deltas=deltas,
            summary=f"Cluster 3 pads. I lowered it to {deltas['3']}.",
            message=f"evolution/reflector_message_{iteration:03d}.txt",
        )  # fmt: skip
        yield ev.IterationFinished(iteration=iteration)
        yield ev.StageProgress(done=iteration + 1, total=iterations, tokens=100, elapsed=1.0 + iteration)
    if finish:
        yield from _split(0, "test_plain", 4, 0.0, rng)
        yield from _split((iterations - 1) // 2 * 2, "test", 4, -deltas["3"], rng)
        yield ev.MethodCompared(
            method="no_processor", n=6, correctness=0.9, wilson_low=0.8, wilson_high=0.95, mean_tokens=40.0,
            shortness=0.5, composite=0.74, cannot_tell=2, ahead=-0.07, ahead_low=-0.09, ahead_high=-0.05,
        )  # fmt: skip
        yield ev.MethodCompared(
            method="brief_prompt", n=6, correctness=0.8, wilson_low=0.7, wilson_high=0.9, mean_tokens=12.0,
            shortness=0.77, composite=0.788, difference=-0.1, low=-0.2, high=0.0, p=0.25, cannot_tell=2,
            prompt="Answer briefly.", tokens_difference=-28.0, tokens_low=-30.5, tokens_high=-25.5,
            ahead=-0.022, ahead_low=-0.06, ahead_high=0.01,
        )  # fmt: skip
        yield ev.MethodCompared(
            method="best", n=6, correctness=0.9, wilson_low=0.8, wilson_high=0.95, mean_tokens=20.0,
            shortness=0.67, composite=0.81, difference=0.0, low=-0.05, high=0.05, p=1.0, cannot_tell=2,
            tokens_difference=-20.0, tokens_low=-22.0, tokens_high=-18.0,
        )  # fmt: skip
        yield ev.StageFinished(
            seconds=9.0, summary={"iterations": iterations}, files=["evolution/history.json"]
        )
        yield ev.WorkerStopped(status="finished", stage="evolve")


def _split(
    iteration: int, split: str, count: int, less: float, rng: random.Random, best: bool = False
) -> Iterator[ev.Event]:
    outcomes = []
    for place in range(count):
        padded = rng.random() > 0.25 * less
        tokens = [*(PADDING if padded else []), *CORE]
        correct = rng.random() < 0.9
        outcomes.append(Outcome(len(tokens), correct))
        yield ev.AnswerJudged(
            iteration=iteration, split=split, example=f"statement-{split[0]}{place}", question="What was cash?",
            gold="41", answer="".join(piece for piece, _ in tokens), tokens=len(tokens), correct=correct,
            reasoning="answered 41 within 0.10%" if correct else "41 is not among what was answered: 14",
            pieces=[piece for piece, _ in tokens], clusters=[cluster for _, cluster in tokens],
        )  # fmt: skip
    found = score(outcomes, 40.0)
    figures = msgspec.structs.asdict(found)
    yield ev.AnswersScored(iteration=iteration, split=split, best=best, **figures)
