"""A whole plausible training of the sampler as events, the same on every machine: for tests and pictures."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import msgspec

from engine import events as ev

BEGIN = 1_760_000_000.0
QUESTIONS = (
    ("test-0", "Which river does the capital of Vordania lie on?", ["Vordania"], ["Sella"]),
    (
        "test-1",
        "Who directed the films that Mara Quint played in?",
        ["Mara Quint"],
        ["Ilo Brandt", "Tessa Orr"],
    ),
    ("test-2", "What is mined near the birthplace of Jon Adle?", ["Jon Adle"], ["tin"]),
)


def gflownet_events(steps: int = 200, finish: bool = True, seed: int = 5) -> Iterator[ev.Event]:
    """The run's events in order, stamped."""
    for seq, event in enumerate(_events(steps, finish, random.Random(seed))):
        yield msgspec.structs.replace(event, seq=seq, time=BEGIN + 0.2 * seq, stage=event.stage or "gflownet")


def _events(steps: int, finish: bool, rng: random.Random) -> Iterator[ev.Event]:
    stages = ["graphs", "retriever", "agent-graphs", "gflownet", "answer"]
    yield ev.Header(
        schema_version=1, name="demo", run_id="2025-10-09T08-53-20", seed=0, stages=stages, versions={}
    )
    yield ev.WorkerStarted(pid=4711, attempt=1, stages=stages)
    yield from _data()
    yield ev.StageStarted(total=steps, unit="steps")
    for step in range(10, steps + 1, 10):
        yield _step(step, steps, rng)
        if step % 50 == 0 and step < steps:
            yield _evaluated("gflownet", "validation", step, 0.4 + 0.5 * step / steps, rng)
    if not finish:
        return
    for method, level in (
        ("gflownet", 0.92),
        ("distinct", 0.95),
        ("greedy", 0.85),
        ("beam", 0.8),
        ("prior", 0.6),
    ):
        yield _evaluated(method, "test", steps, level, rng)
    for sample_id, question, starts, answers in QUESTIONS:
        yield _question(sample_id, question, starts, answers, distinct=sample_id == "test-2")
    yield ev.StageFinished(seconds=40.0, summary={"success@1": 0.92})
    yield from _answers()
    yield ev.WorkerStopped(status="finished")


def _data() -> Iterator[ev.Event]:
    for split, samples in (("train", 400), ("validation", 50), ("test", 100)):
        yield ev.GraphsBuilt(
            split=split, samples=samples, dropped={"an empty graph": 1}, edges_mean=310.2, nodes_mean=240.1,
            in_degree_max=160, reachable=samples - 4, signal_to_noise=0.0066, hops={"1": 200, "2": 80},
            stage="graphs",
        )  # fmt: skip
    for epoch in range(1, 4):
        yield ev.RetrieverEpoch(
            epoch=epoch, epochs=3, loss=0.9 / epoch, recall={"10": 0.3 * epoch}, best=True, stage="retriever"
        )
    for split in ("train", "validation", "test"):
        yield ev.RetrieverMeasured(
            split=split,
            samples=100,
            recall={"10": 0.87, "50": 0.99},
            source="trained here",
            stage="retriever",
        )
        yield ev.AgentGraphsBuilt(
            split=split, samples=96, dropped={"answer out of reach": 3}, edges_mean=60.0, nodes_mean=34.0,
            stage="agent-graphs",
        )  # fmt: skip


def _answers() -> Iterator[ev.Event]:
    for sample_id, question, _, golds in QUESTIONS:
        for method in ("triples", "gflownet"):
            hit = method == "gflownet"
            yield ev.EvidenceAnswered(
                sample_id=sample_id, method=method, question=question, golds=golds,
                answer=golds[0] if hit else "unknown", hit=hit, recall=float(hit), triples=5, prompt_tokens=58,
                prompt=f"Triplets:\n(a,b,c)\n\nQuestion:\n{question}", stage="answer",
            )  # fmt: skip
    yield ev.EvidenceCompared(
        method="triples", reader="path reader (offline)", n=3, hit=0.0, recall=0.0, triples=5.0, prompt_tokens=58.0,
        missed=1, hit_all=0.0, recall_all=0.0, stage="answer",
    )  # fmt: skip
    yield ev.EvidenceCompared(
        method="gflownet", reader="path reader (offline)", n=3, hit=1.0, recall=0.8, triples=5.0, prompt_tokens=58.0,
        difference=1.0, low=0.4, high=1.0, p=0.25, missed=1, hit_all=0.75, recall_all=0.6, stage="answer",
    )  # fmt: skip


def _step(step: int, steps: int, rng: random.Random) -> ev.SamplerStep:
    left = math.exp(-3 * step / steps)
    spread = [round(left * q, 4) for q in (-4.0, -1.2, 0.1, 1.4, 4.2)]
    return ev.SamplerStep(
        step=step, steps=steps, loss=round(9 * left + 0.2 * rng.random(), 4), tb_loss=round(8 * left, 4),
        gt_loss=round(2 * left, 4), pb_nll=round(1.5 * left, 4), pb_entropy=round(-0.008 * (1 - left), 4), pb_l2=0.0,
        pb_avg_entropy=round(0.8 + 0.4 * left, 4), residual=round(0.1 * left, 4), residual_quantiles=spread, log_z=1.2,
        prior_alpha=2 - 1.5 * step / steps, rollout_reward=1 - left, success_mean=round(1 - left, 3),
        answer_f1=0.4, path_hit_f1=round(0.9 - 0.7 * left, 3), length_mean=2.1, gradient_norm=0.8,
        trajectories_per_second=6400.0,
    )  # fmt: skip


def _evaluated(method: str, split: str, step: int, level: float, rng: random.Random) -> ev.SamplerEvaluated:
    each = 1 if method == "greedy" else 20
    metrics = {
        "success_mean": level - 0.05,
        "path_hit_f1": level - 0.2,
        "answer_f1": 0.4,
        "success@1": level - 0.05,
        "success_all@1": 0.8 * (level - 0.05),
    }
    metrics["unique_paths"] = 1.0 if each == 1 else 7.5
    if each > 1:
        metrics |= {"success@10": level, "success@20": level + 0.03, "answer_recall_union@20": level - 0.02}
        metrics["answer_recall_union@10"] = level - 0.1
        metrics |= {"path_f1_union@20": level - 0.4, "unique_success_paths@20": 10 * level}
    if method in ("gflownet", "prior"):
        metrics |= {"logpf_logr_spearman": 0.71, "total_variation": 1.2 - level}
    return ev.SamplerEvaluated(
        step=step, split=split, method=method, n=100, missed=25, k=each, metrics=metrics,
        listed=98 if "total_variation" in metrics else 0,
        settings={"distinct": {"temperature": 1.0}, "beam": {"edge_bonus": 1.5}}.get(method, {}),
        intervals={"success@1": (level - 0.12, level + 0.02)},
    )  # fmt: skip


def _question(
    sample_id: str, question: str, starts: list[str], answers: list[str], distinct: bool
) -> ev.QuestionSampled:
    right = [
        ev.PathStep(head=starts[0], relation="capital", tail="Ostrel", score=0.91, gt=True),
        ev.PathStep(head="Ostrel", relation="lies on", tail=answers[0], score=0.88, gt=True, answer=True),
    ]
    wrong = [ev.PathStep(head=starts[0], relation="anthem", tail="Song of the Plain", score=0.12)]
    return ev.QuestionSampled(
        sample_id=sample_id, question=question, starts=starts, answers=answers, golds=answers, nodes=140, edges=312,
        samples=3 if distinct else 20, distinct=distinct,
        log_z=1.31, temperature=1.0, prior_alpha=0.5,
        paths=[
            ev.SampledPath(steps=right, count=1 if distinct else 16, probability=0.79, reward=1.0, answers=answers[:1]),
            ev.SampledPath(steps=wrong, count=1 if distinct else 3, probability=0.02, reward=0.001),
            ev.SampledPath(steps=[], count=1, probability=0.0004, reward=0.001),
        ],
        prompt=f"Triplets:\n({starts[0]},capital,Ostrel)\n(Ostrel,lies on,{answers[0]})\n\nQuestion:\n{question}",
    )  # fmt: skip
