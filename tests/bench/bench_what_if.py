"""Is a what-if with the recorded choice the record, and is another choice what a run with that choice did?

    python -m tests.bench.bench_what_if RUN [MOST]

For each method of a finished run, MOST recorded answers at most (200 unless told), drawn evenly: how many come again
without a change; how many with a choice forced that the run itself made elsewhere (ESM: the recorded entry and
strength; evolution: the deltas of the best iteration, against its answers on the same validation questions; SLSM: the
memory's note, against the mode `always`; pool: another pair that the run asked); and the seconds a try. Nothing is
written.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.esm import layout as esm_layout
from engine.events import ConversationAnswered, LeversTried, PathsTried
from engine.evolution import layout as evolution_layout
from engine.evolution.answers import AnswerRecord
from engine.evolution.history import read_history
from engine.evolution.splits import VALIDATION
from engine.files import read_jsonl, read_records
from engine.gflownet import layout as gflownet_layout
from engine.pool import layout as pool_layout
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.services.run_context import run_context
from engine.services.what_if import kind_of
from engine.slsm import layout as slsm_layout

_OTHER_VECTORS = ("random_vector", "mean_vector", "mean_vector_gated")
"""Methods of ESM that inject something else under an entry's name."""
Case = tuple[dict[str, Any], str | None]
"""A request, and the text that its choice gave in the run; None where the run did not make it."""


def esm(run_dir: Path) -> Iterator[Case]:
    for path in sorted(esm_layout.evaluation(run_dir, "esm").parent.glob("*/per_example.jsonl")):
        method = path.parent.name
        for line in [] if method in _OTHER_VECTORS else read_jsonl(path):
            for step in line["steps"]:
                if step["chosen"] and step["phase"] == "segment":
                    choice = {"entries": [step["chosen"]], "alphas": [step["alpha"]], "m": step["m"]}
                    yield {"method": method, "example": line["example_id"], **choice}, line["text"]


def evolution(run_dir: Path) -> Iterator[Case]:
    best = read_history(evolution_layout.history(run_dir)).best
    records = read_records(evolution_layout.answers(run_dir), AnswerRecord)
    number = 0 if best is None else best.iteration
    under_best = {
        record.example_id: record.answer
        for record in records
        if (record.iteration, record.split) == (number, VALIDATION)
    }
    for record in records:
        request = {"iteration": record.iteration, "split": record.split, "example": record.example_id}
        brief = "brief" in record.split  # another prompt
        yield {**request, "of": number}, None if brief else under_best.get(record.example_id)


def slsm(run_dir: Path) -> Iterator[Case]:
    results = read_records(slsm_layout.results(run_dir), ConversationAnswered)
    always = {(r.conversation_id, r.memory_mode, r.attempt): r.answer for r in results if r.mode == "always"}
    for r in results:
        memory = r.memory_mode if r.memory_mode != "none" else "structured"
        request = {"conversation": r.conversation_id, "mode": r.mode, "memory_mode": r.memory_mode}
        expected = always.get((r.conversation_id, memory, r.attempt))
        yield {**request, "attempt": r.attempt, "source": memory}, expected


def pool(run_dir: Path) -> Iterator[Case]:
    pairs = [pair for pair in read_records(pool_layout.evaluated(run_dir), EvaluatedPair) if pair.answer]
    for first, second in pairwise(pairs):
        if first.query_id == second.query_id:
            request = {"query": first.query_id, "recorded": list(first.pair), "pairs": [list(second.pair)]}
            yield request, second.answer


def gflownet(run_dir: Path) -> Iterator[Case]:
    for line in read_jsonl(gflownet_layout.sampled_paths(run_dir)):
        yield {"sample_id": line["sample_id"]}, None


CASES: dict[str, Callable[[Path], Iterator[Case]]] = {
    "esm": esm, "evolution": evolution, "slsm": slsm, "pool": pool, "gflownet": gflownet,
}  # fmt: skip


def main(run_dir: Path, most: int) -> None:
    for system, cases in CASES.items():
        if (run_dir / system).is_dir():
            measure(system, run_dir, _evenly(list(cases(run_dir)), most))


def measure(system: str, run_dir: Path, cases: Sequence[Case]) -> None:
    kind = kind_of(system)
    tries = kind(run_context(run_dir, kind.stage))
    exact = forced = same = 0
    began = time.perf_counter()
    for request, expected in cases:
        tried = tries.tried(tries.form.model_validate(request))
        assert not isinstance(tried, LeversTried)
        exact += tried.exact
        if expected is not None and not isinstance(tried, PathsTried):
            forced += 1
            same += tried.yours[0].text == expected
    seconds = (time.perf_counter() - began) / max(len(cases), 1)
    print(f"{system}: {exact} of {len(cases)} repeat the record; ", end="")
    print(f"{same} of {forced} with a choice forced; {seconds:.2f} s a try", flush=True)


def _evenly(cases: list[Case], most: int) -> list[Case]:
    step = max(1, len(cases) // most)
    return cases[::step][:most]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
