"""Stage I: contrastive rollouts become candidate memory entries (spec ESM 3)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import DataError
from engine.esm import layout
from engine.esm.examples import evaluation_examples, training_examples
from engine.esm.lines import read_mined, read_pairs
from engine.esm.mining.effects import layer_effects, no_better_than_chance, nothing_to_inject
from engine.esm.mining.mine_work import Batch, MinedExample, MinedPair, Mining, PairRecord
from engine.esm.vectors import vector_bytes
from engine.files import (
    append_jsonl,
    csv_text,
    file_stem,
    recover_batches,
    recover_jsonl,
    write_all_atomic,
    write_atomic,
    write_jsonl,
)
from engine.run.stage import StageContext, StageResult
from engine.tasks.loaders import check_disjoint


class Mine:
    """Samples K rollouts an example, contrasts right with wrong ones at every control point, keeps the top C."""

    def run(self, context: StageContext) -> StageResult:
        """Batches of examples; a batch is finished when its lines stand in rollouts.jsonl."""
        job = _Job(context)
        mined = context.prepare(Mining(context.config))
        done, total = job.recover(), len(job.examples)
        context.start(total, done, unit="examples")
        for batch in mined(job.batches(done)):
            job.record(batch)
            done += len(batch)
            context.progress(done, total, sum(example.tokens for example in batch))
        return job.export()


class _Job:
    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.examples = training_examples(context.config)
        check_disjoint(self.examples, evaluation_examples(context.config))
        self.folder = layout.mine(context.run_dir)
        self.pairs: list[PairRecord] = []
        self.rollouts = self.right = self.reached = 0

    @property
    def size(self) -> int:
        """Examples a batch."""
        return self.context.config.offline_mine.batch_size_examples

    def recover(self) -> int:
        """Whole batches that an earlier attempt finished; anything after them is cut off."""
        path = self.folder / "rollouts.jsonl"
        lines = read_mined(recover_batches(path, self.size, len(self.examples)), path)
        done = len(lines)
        for line in lines:
            self._count(line)
        finished = {example.id for example in self.examples[:done]}
        path = self.folder / "pairs.jsonl"
        pairs = read_pairs(recover_jsonl(path), path)
        self.pairs = [pair for pair in pairs if pair["example_id"] in finished]
        if done or path.exists():
            write_jsonl(path, self.pairs)
        return done

    def batches(self, done: int) -> Iterator[Batch]:
        """The batches that are left, with the bounds that they have in a run without interruption."""
        for first in range(done, len(self.examples), self.size):
            yield self.examples[first : first + self.size]

    def record(self, batch: Sequence[MinedExample]) -> None:
        """Write a batch that is in the log already. The rollouts' lines come last: with them the batch is finished."""
        pairs = [pair for example in batch for pair in example.pairs]
        write_all_atomic([file for pair in pairs for file in self._files(pair)])
        for example in batch:
            self._count(example.line)
        append_jsonl(self.folder / "pairs.jsonl", [pair.record for pair in pairs])
        append_jsonl(self.folder / "rollouts.jsonl", [example.line for example in batch])
        self.pairs.extend(pair.record for pair in pairs)

    def export(self) -> StageResult:
        """The entries of the top C pairs as candidates.jsonl; vectors that fell out are deleted."""
        if not self.pairs:
            raise self._nothing_mined()
        mine = self.context.config.offline_mine
        useful = [pair for pair in self.pairs if kept_kinds(pair, mine.verify)]
        kept = top_pairs(useful, mine.keep_top_C)
        candidates = candidate_records(kept, mine.verify)
        needed = {
            self.folder / row[key] for row in candidates for key in ("key_path", "vector_path") if row[key]
        }
        for pair in self.pairs:
            for path in _vector_paths(self.folder, pair["pair_id"]):
                if path not in needed:
                    path.unlink(missing_ok=True)
        write_jsonl(self.folder / "candidates.jsonl", candidates)
        files = ["rollouts.jsonl", "candidates.jsonl", "keys", "vectors"]
        if effects := layer_effects(self.pairs):
            write_atomic(self.folder / "effects.csv", csv_text([asdict(effect) for effect in effects]))
            files.append("effects.csv")
        warning = nothing_to_inject(self.pairs, candidates) or no_better_than_chance(effects)
        if warning:
            self.context.notice(warning, level="warning")
        summary: dict[str, float | int | str] = {
            "examples": len(self.examples),
            "rollouts": self.rollouts,
            "correct_rollouts": self.right,
            "pairs": len(self.pairs),
            "pairs_kept": len(kept),
            "candidates": len(candidates),
        }
        return StageResult(summary, [f"esm/mine/{name}" for name in files])

    def _files(self, pair: MinedPair) -> Iterator[tuple[Path, bytes]]:
        vectors = (pair.vectors.right_key, pair.vectors.wrong_key, pair.vectors.delta)
        for path, vector in zip(_vector_paths(self.folder, pair.record["pair_id"]), vectors, strict=True):
            yield path, vector_bytes(vector)

    def _count(self, line: dict[str, Any]) -> None:
        rollouts = line["rollouts"]
        self.rollouts += len(rollouts)
        self.right += sum(bool(rollout["correct"]) for rollout in rollouts)
        self.reached += sum(rollout["segments"] > 0 for rollout in rollouts)

    def _nothing_mined(self) -> DataError:
        delimiter = self.context.config.control_points.segment_delimiter
        if not self.reached:
            return DataError(
                what=f"none of {self.rollouts} rollouts contains the delimiter {delimiter!r}: no control point",
                where="control_points.segment_delimiter",
                hint="ask for it in prompt.template, or set the delimiter to a string the model does write",
            )
        return DataError(
            what=f"no contrast was found: {self.right} of {self.rollouts} rollouts are right, "
            f"{self.reached} contain the delimiter",
            where="offline_mine",
            hint="raise K or temperature, take harder or easier examples, or set pos_source to rollout_or_gold",
        )


def kept_kinds(pair: PairRecord, verify: bool) -> list[str]:
    """Which entries of a pair become candidates: both, or those that were seen to do what they stand for."""
    if not verify or "steered_correct" not in pair:
        return ["wrong", "right"]
    helps = pair["steered_correct"] and not pair["wrong_correct"]
    return ["wrong"] * helps + ["right"] * pair["right_correct"]


def top_pairs(pairs: Sequence[PairRecord], count: int) -> list[PairRecord]:
    """The `count` pairs of highest quality in mining order; the earlier wins a tie."""
    ranked = heapq.nsmallest(count, range(len(pairs)), key=lambda i: (-pairs[i]["quality"], i))
    return [pairs[i] for i in sorted(ranked)]


def candidate_records(pairs: Sequence[PairRecord], verify: bool) -> list[dict[str, Any]]:
    """Up to two entries a pair: the wrong state with its correction, the right state with none (spec ESM 3.6)."""
    records: list[dict[str, Any]] = []
    for pair in pairs:
        shared = {
            key: pair[key]
            for key in ("pair_id", "example_id", "control_point_m", "layer", "quality", "source")
        }
        for kind in kept_kinds(pair, verify):
            stem = file_stem(pair["pair_id"])
            vector = f"vectors/{stem}_delta.pt" if kind == "wrong" else None
            records.append(
                {
                    "tool_name": f"{pair['pair_id']}_{kind}",
                    "kind": kind,
                    **shared,
                    "key_path": f"keys/{stem}_{kind}.pt",
                    "vector_path": vector,
                    "model": pair["model"],
                }
            )
    return records


def _vector_paths(folder: Path, pair_id: str) -> tuple[Path, Path, Path]:
    keys, vectors, stem = folder / "keys", folder / "vectors", file_stem(pair_id)
    return keys / f"{stem}_right.pt", keys / f"{stem}_wrong.pt", vectors / f"{stem}_delta.pt"
