"""Stage II: a library of high quality and diverse keys (spec ESM 4)."""

from __future__ import annotations

import shutil
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import OfflineSelectSection
from engine.errors import DataError, disk_errors
from engine.esm import layout
from engine.esm.library.dpp import GreedyDpp, Pick
from engine.esm.library.entry_names import EntryNamer
from engine.esm.lines import Record, read_entries
from engine.esm.vectors import load_vector
from engine.events import EntryPicked, added_fields
from engine.files import inside, write_jsonl
from engine.run.stage import StageContext, StageResult


class Select:
    """Picks B of the candidates by the greedy DPP, after an optional floor for every control point."""

    def run(self, context: StageContext) -> StageResult:
        """Recomputed whole on resume: it takes seconds, and library.jsonl appears only when all is there."""
        config, mined = context.config.offline_select, layout.mine(context.run_dir)
        candidates = read_entries(mined / "candidates.jsonl", "mine")
        if not candidates:
            return self._nothing(context)
        size = min(config.B, len(candidates))
        if len(candidates) <= config.B:
            context.notice(
                f"offline_select.B = {config.B} is not smaller than the {len(candidates)} candidates: "
                "selection selects nothing",
                level="warning",
            )
        keys = np.stack([load_vector(inside(mined, record["key_path"])) for record in candidates])
        context.start(size, unit="entries")
        picks = self._pick(context, config, candidates, keys, size)
        library = [record for record, _ in picks]
        self._copy(library, context)
        write_jsonl(layout.library(context.run_dir) / "library.jsonl", library)
        return StageResult(
            {
                "candidates": len(candidates),
                "picked": size,
                "objective": picks[-1][1].objective,
                "mean_quality": float(np.mean([record["quality"] for record in library])),
                "wrong": sum(record["kind"] == "wrong" for record in library),
                "right": sum(record["kind"] == "right" for record in library),
            },
            ["esm/library/library.jsonl", "esm/library/keys", "esm/library/vectors"],
        )

    def _nothing(self, context: StageContext) -> StageResult:
        """An empty library: verification may leave no candidate, and the run goes on. Raises DataError without it."""
        if not context.config.offline_mine.verify:
            raise DataError(
                what="there are no candidates",
                where=str(layout.mine(context.run_dir)),
                hint="run the stage `mine` again",
            )
        context.notice("verification left no candidate: the library is empty", level="warning")
        write_jsonl(layout.library(context.run_dir) / "library.jsonl", [])
        return StageResult({"candidates": 0, "picked": 0}, ["esm/library/library.jsonl"])

    def _pick(
        self,
        context: StageContext,
        config: OfflineSelectSection,
        candidates: list[Record],
        keys: NDArray[np.float32],
        size: int,
    ) -> list[tuple[Record, EntryPicked]]:
        """Lines of the library, each with its event, which is emitted as soon as it is picked."""
        quality = np.array([record["quality"] for record in candidates], dtype=np.float64)
        weight = config.lambda_diversity if config.method == "dpp" else 0.0
        greedy = GreedyDpp(keys, quality, weight, config.epsilon, size)
        floor = control_point_floor(candidates, config.min_per_control_point)
        namer = EntryNamer(layout.mine(context.run_dir))
        picks: list[tuple[Record, EntryPicked]] = []
        for order in range(size):
            context.checkpoint()
            reason = "min_per_control_point" if order < len(floor) else config.method
            pick = greedy.take(floor[order] if order < len(floor) else greedy.best())
            candidate = candidates[pick.index]
            record = {"lib_id": f"lib_{order:05d}", "name": namer.name(candidate), **candidate}
            picks.append((record, _event(order, record, pick, reason)))
            context.emit(picks[-1][1])
            if (order + 1) % 50 == 0 or order + 1 == size:
                context.progress(order + 1, size)
        return picks

    def _copy(self, library: list[Record], context: StageContext) -> None:
        mined, chosen = layout.mine(context.run_dir), layout.library(context.run_dir)
        for record in library:
            context.checkpoint()
            for path in filter(None, (record["key_path"], record["vector_path"])):
                target = inside(chosen, path)
                with disk_errors(target):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(mined / path, target)


def control_point_floor(candidates: list[Record], count: int) -> list[int]:
    """Indices of the `count` best candidates of every control point, by quality, then order (spec ESM 4.4).

    First the best of every control point, then the second best, and so on: where the library is too small for all,
    no control point is left empty for another's sake.
    """
    chosen: list[tuple[int, int, int]] = []
    for m in {record["control_point_m"] for record in candidates}:
        indices = [i for i, record in enumerate(candidates) if record["control_point_m"] == m]
        best = sorted(indices, key=lambda i: (-candidates[i]["quality"], i))[:count]
        chosen.extend((rank, m, i) for rank, i in enumerate(best))
    return [i for _, _, i in sorted(chosen)]


def _event(order: int, record: Record, pick: Pick, reason: str) -> EntryPicked:
    values = {**record, **asdict(pick), "order": order, "example": record["example_id"], "reason": reason}
    return EntryPicked(**{name: values[name] for name in added_fields(EntryPicked)})
