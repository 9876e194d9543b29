"""A whole plausible ESM run as events, the same on every machine: for tests, measurements and pictures.

The figures hang together as an engine's would: Score = A-hat + Δ log-probability, α = 4 Score, gates fire for
the reasons that they name, tokens add up, and the running rows follow from the examples.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine import events as ev

BEGIN = 1_760_000_000.0
METHODS = ("greedy", "esm", "no_memory", "no_probing", "random_vector", "mean_vector", "no_right_entries")
TAU_NULL = 0.05
_THINGS = ("apples", "tickets", "marbles", "pages", "coins", "stamps")
_PEOPLE = ("Ana", "Ben", "Chloé", "Deniz", "Emeka", "Fumiko")


class SyntheticRun:
    """Builds the events. `examples` × methods with control points give about 7 decisions an example."""

    def __init__(self, examples: int = 25, pairs: int = 40, picks: int = 60, seed: int = 7) -> None:
        self.examples, self.pair_count, self.pick_count = examples, pairs, picks
        self.random = random.Random(seed)
        self.picked: list[ev.EntryPicked] = []
        self.seq = 0
        self.time = BEGIN

    def events(self, methods: tuple[str, ...] = METHODS[:4], finish: bool = True) -> Iterator[ev.Event]:
        """The run's events in order, stamped."""
        for event in self._run(methods, finish):
            yield msgspec.structs.replace(event, seq=self.seq, time=round(self.time, 3))
            self.seq += 1
            self.time += self.random.uniform(0.02, 0.12)

    def _run(self, methods: tuple[str, ...], finish: bool) -> Iterator[ev.Event]:
        names = ["mine", "select", "memory", "eval"]
        yield ev.Header(
            schema_version=1, name="demo", run_id="2025-10-09T08-53-20", seed=7, stages=names,
            versions={"steer-tui": "0.1.0"},
        )  # fmt: skip
        yield ev.WorkerStarted(pid=4711, attempt=1, stages=names)
        yield ev.ModelLoaded(
            name="embedded", backend="transformers", device="cpu", dtype="float32", num_layers=4,
            hidden_size=128, parameters=1_124_096, fingerprint="b3c1f0aa", seconds=0.4, stage="mine",
        )  # fmt: skip
        yield from self._mine()
        yield from self._select()
        yield from self._memory()
        yield from self._eval(methods, finish)
        if finish:
            yield ev.WorkerStopped(status="finished")

    # ------------------------------------------------------------ offline

    def _mine(self) -> Iterator[ev.Event]:
        total = max(20, self.pair_count // 2)
        yield ev.StageStarted(stage="mine", total=total, unit="examples")
        tokens = 0
        for i in range(total):
            correct = self.random.randint(1, 7)
            tokens += self.random.randint(500, 800)
            yield ev.RolloutsMined(
                stage="mine", example=f"train-{i:04d}", question=self._question(i), n=8, correct=correct,
                mean_tokens=round(self.random.uniform(60, 95), 1),
                segments=[3, 4, 4, 5, 3, 4, 4, 5], pairs=2,
            )  # fmt: skip
            first = self.random.randint(1, 3)
            for m in range(first, first + min(2, max(0, self.pair_count - 2 * i))):
                yield self._pair(i, m)
            yield ev.StageProgress(
                stage="mine", done=i + 1, total=total, tokens=tokens, elapsed=round(self.time - BEGIN, 3)
            )
        yield ev.Notice(stage="mine", text="2 of 160 rollouts never wrote the delimiter", level="warning")
        yield ev.StageFinished(
            stage="mine", seconds=round(self.time - BEGIN, 2),
            summary={"rollouts": total * 8, "accuracy": 0.613, "pairs": self.pair_count},
            files=["mine/rollouts.jsonl", "mine/candidates.jsonl"],
        )  # fmt: skip

    def _pair(self, i: int, m: int) -> ev.PairMined:
        return ev.PairMined(
            stage="mine", pair=f"train-{i:04d}-m{m}-L2", example=f"train-{i:04d}", control_point_m=m,
            layer=2, quality=round(self.random.uniform(0.4, 1.02), 4), positives=4,
            negatives=self.random.randint(1, 4), delta_norm=round(self.random.uniform(1.2, 4.5), 4),
            positive_text=self._step(True), negative_text=self._step(False), steered_correct=(i + m) % 3 == 0,
            wrong_correct=(i + m) % 11 == 0, right_correct=(i + m) % 13 != 0,
        )  # fmt: skip

    def _select(self) -> Iterator[ev.Event]:
        yield ev.StageStarted(stage="select", total=self.pick_count, unit="entries")
        objective = 0.0
        for order in range(self.pick_count):
            gain = round(0.7 * 0.985**order - 0.2 * self.random.random(), 4)
            objective = round(objective + gain, 4)
            kind = "wrong" if order % 5 else "right"
            m = 1 + order % 4
            pick = ev.EntryPicked(
                stage="select", order=order, lib_id=f"{order:05d}", tool_name=f"{kind}-{order:04d}", kind=kind,
                example=f"train-{order % 20:04d}", control_point_m=m, layer=2,
                quality=round(self.random.uniform(0.5, 1.0), 4), gain=gain, objective=objective,
                max_similarity=round(min(0.97, 0.2 + order / 80), 4), reason="floor" if order < 4 else "dpp",
            )  # fmt: skip
            self.picked.append(pick)
            yield pick
        yield ev.StageFinished(
            stage="select", seconds=1.25,
            summary={"candidates": 2 * self.pair_count, "picked": self.pick_count, "objective": objective},
            files=["library/library.jsonl"],
        )  # fmt: skip

    def _memory(self) -> Iterator[ev.Event]:
        counts: dict[str, list[int]] = {}
        for pick in self.picked:
            counts.setdefault(str(pick.control_point_m), [0, 0])[pick.kind == "right"] += 1
        yield ev.StageStarted(stage="memory", total=self.pick_count, unit="entries")
        yield ev.MemoryBuilt(
            stage="memory", entries=self.pick_count, hidden_size=128, layers=[2], by_control_point=counts
        )
        yield ev.StageFinished(
            stage="memory", seconds=0.08, summary={"entries": self.pick_count},
            files=["memory/keys.npy", "memory/entries.jsonl"],
        )  # fmt: skip

    # ------------------------------------------------------------ online

    def _eval(self, methods: tuple[str, ...], finish: bool) -> Iterator[ev.Event]:
        begun, tokens, done = self.time, 0, 0
        total = self.examples * len(methods)
        yield ev.StageStarted(stage="eval", total=total, unit="answers")
        greedy: list[bool] = []
        for method in methods:
            right: list[bool] = []
            used: list[tuple[int, int]] = []
            for index in range(self.examples):
                answer = list(self._answer(method, index))
                yield from answer
                outcome = answer[-1]
                assert isinstance(outcome, ev.ExampleEvaluated)
                right.append(outcome.correct)
                used.append((outcome.tokens_used, outcome.probe_tokens_used))
                done, tokens = done + 1, tokens + outcome.budget_used
                if index % 4 == 3:
                    yield ev.StageProgress(
                        stage="eval", done=done, total=total, tokens=tokens,
                        elapsed=round(self.time - begun, 3), note=method,
                    )  # fmt: skip
                    yield self._row(method, right, greedy, used, final=False)
            if finish or method != methods[-1]:
                yield self._row(method, right, greedy, used, final=True)
            greedy = greedy or right
        if finish:
            yield ev.StageFinished(
                stage="eval", seconds=round(self.time - begun, 2),
                summary={"examples": self.examples, "T_max": 256, "accuracy": 0.88},
                files=[
                    "eval/esm/per_example.jsonl", "eval/esm/summary.jsonl", "tables/main_results_single.csv",
                    "tables/ablation.csv", "tables/diagnostics_T256.csv", "cases/cases_T256.md",
                ],
            )  # fmt: skip

    def _row(
        self, method: str, right: list[bool], greedy: list[bool], used: list[tuple[int, int]], final: bool
    ) -> ev.MethodEvaluated:
        n = len(right)
        accuracy = sum(right) / n
        figures: dict[str, float | int | None] = {}
        if greedy and method != "greedy":
            fixed = sum(a and not b for a, b in zip(right, greedy, strict=False))
            broken = sum(b and not a for a, b in zip(right, greedy, strict=False))
            difference = (fixed - broken) / n
            half = 1.96 * ((fixed + broken) / n**2 + 1e-4) ** 0.5
            figures = {
                "difference": round(difference, 4), "low": round(difference - half, 4),
                "high": round(difference + half, 4), "p": round(0.5 ** max(1, abs(fixed - broken)), 6),
                "fixed": fixed, "broken": broken,
            }  # fmt: skip
        return ev.MethodEvaluated(
            stage="eval", method=method, n=n, accuracy=round(accuracy, 4),
            mean_tokens=round(sum(u[0] for u in used) / n, 2),
            mean_probe_tokens=round(sum(u[1] for u in used) / n, 2),
            tokens_per_second=round(self.random.uniform(900, 1500), 1), final=final, **figures,  # type: ignore[arg-type]
        )  # fmt: skip

    def _answer(self, method: str, index: int) -> Iterator[ev.Event]:
        example, question = f"test-{index:04d}", self._question(1000 + index)
        chance = {"greedy": 0.6, "esm": 0.92, "no_memory": 0.6, "no_probing": 0.8}.get(method, 0.7)
        correct = self.random.random() < chance
        prefix = f"Question: {question}\n\nAnswer:\n"
        committed = probes = decisions = steered = 0
        text = ""
        if method != "greedy":
            steps = self.random.randint(2, 4)
            for m in range(1, steps + 1):
                decision = self._decision(method, example, m, prefix + text, committed, last=m == steps)
                yield decision
                committed += decision.committed_tokens
                probes += decision.probe_tokens
                decisions, steered = decisions + 1, steered + (decision.chosen is not None)
                text += decision.segment
        else:
            text = self._step(correct) + self._step(correct) + "#### 42"
            committed = self.random.randint(60, 110)
        yield ev.ExampleEvaluated(
            stage="eval", method=method, index=index, example=example, question=question, gold="42",
            pred="42" if correct else "32", correct=correct, tokens_used=committed, probe_tokens_used=probes,
            budget_used=committed + probes, decisions=decisions, steered=steered, text=text,
        )  # fmt: skip

    def _decision(
        self, method: str, example: str, m: int, prefix: str, before: int, last: bool
    ) -> ev.DecisionTaken:
        gate, candidates, null_ahat = self._weigh(method, m)
        null_logprob = round(self.random.uniform(-0.6, -0.05), 4)
        best = max((c for c in candidates if c.score is not None), key=_score, default=None)
        chosen = best if gate == "chosen" else None
        steps = 8 * (1 + sum(c.probed for c in candidates)) if any(c.probed for c in candidates) else 0
        return ev.DecisionTaken(
            stage="eval", method=method, example=example, m=m, gate=gate,
            memory_size=0 if m == 1 or method == "no_memory" else 12 + 3 * m,
            top_similarity=candidates[0].similarity if candidates else None,
            best_ahat=max((c.ahat for c in candidates if c.kind == "wrong"), default=None),
            null_ahat=null_ahat if candidates else None, null_logprob=null_logprob if steps else None,
            null_score=null_ahat if candidates else None, null_probe=self._step(False)[:28] if steps else "",
            candidates=candidates, chosen=chosen.entry if chosen else None, layer=2 if chosen else None,
            delta_logprob=chosen.delta_logprob if chosen else None, score=_score(chosen) if chosen else None,
            alpha=round(4 * _score(chosen), 4) if chosen else 0.0, tokens_before=before,
            committed_tokens=self.random.randint(14, 34), probe_tokens=steps,
            ended="eos" if last else "delimiter", prefix=prefix,
            segment="#### 42" if last else self._step(chosen is not None),
            null_segment=self._step(False) if chosen and int(example[-1]) % 2 else None,
        )  # fmt: skip

    def _weigh(self, method: str, m: int) -> tuple[str, list[ev.Candidate], float]:
        """(gate, candidates by similarity, A-hat of null)"""
        if m == 1:
            return "first_segment", [], 0.0
        if method == "no_memory":
            return "no_memory", [], 0.0
        low = self.random.random() < 0.08
        candidates = sorted(
            (self._candidate(method, low) for _ in range(6)), key=lambda c: c.similarity, reverse=True
        )
        null_ahat = max((c.ahat for c in candidates if c.kind == "right"), default=0.0)
        if low:
            plain = [
                msgspec.structs.replace(
                    c,
                    probed=False,
                    logprob=None,
                    delta_logprob=None,
                    score=None,
                    probe_text="",
                    probe_tokens=0,
                )
                for c in candidates
            ]
            return "min_sim", plain, null_ahat
        best = max(map(_score, candidates))
        if best <= null_ahat:
            return "null_best", candidates, null_ahat
        return ("tau_null" if best < TAU_NULL else "chosen"), candidates, null_ahat

    def _candidate(self, method: str, low: bool) -> ev.Candidate:
        pick = self.random.choice(self.picked)
        similarity = round(self.random.uniform(-0.2, 0.1) if low else self.random.uniform(0.35, 0.98), 4)
        ahat = round(similarity * pick.quality, 4)
        right = pick.kind == "right"
        probed = not right and method != "no_probing"
        delta = round(self.random.gauss(0.0, 0.35), 4) if probed else None
        return ev.Candidate(
            entry=pick.tool_name, kind=pick.kind, similarity=similarity, quality=pick.quality, ahat=ahat,
            layer=2, source=pick.example, probed=probed,
            logprob=round(-0.3 + delta, 4) if delta is not None else None, delta_logprob=delta,
            score=None if right else round(ahat + (delta or 0.0), 4),
            probe_text=self._step(self.random.random() < 0.6)[:30] if probed else "",
            probe_tokens=8 if probed else 0,
        )  # fmt: skip

    # ------------------------------------------------------------ texts

    def _question(self, i: int) -> str:
        who, thing = _PEOPLE[i % 6], _THINGS[(i // 6) % 6]
        return (
            f"{who} has {10 + i % 80} {thing}, buys {3 + i % 7} more and gives {2 + i % 5} away. "
            f"How many {thing} are left?"
        )

    def _step(self, careful: bool) -> str:
        a, b = self.random.randint(11, 79), self.random.randint(3, 9)
        if careful:
            return f"{a} + {b} = {a + b}. So there are {a + b} now.\n\n"
        return f"Let us see, there were {a} and then {b} more, that must be around {a + b - 10}.\n\n"


def _score(candidate: ev.Candidate) -> float:
    return candidate.score if candidate.score is not None else -1.0


def write_log(path: Path, events: Iterator[ev.Event] | list[ev.Event]) -> list[tuple[ev.Event, int, int]]:
    """Write a log; its events with offset and length, as a reader gives them."""
    entries, offset = [], 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for event in events:
            line = ev.encode(event)
            entries.append((event, offset, len(line) - 1))
            file.write(line)
            offset += len(line)
    return entries
