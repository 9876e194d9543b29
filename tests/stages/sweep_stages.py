"""Two small stages for tests of sweeps, without a model: `Gather`, then `Weigh`."""

from __future__ import annotations

import json
import os
import time

from engine.errors import DataError
from engine.events.verdict import Verdict
from engine.files import append_jsonl, recover_jsonl, write_atomic
from engine.run.stage import StageContext, StageResult


class Gather:
    """Reads `online.L`; with `online.record_null` also `online.beta`. A record a checkpoint."""

    def run(self, context: StageContext) -> StageResult:
        path, online = context.run_dir / "gather/items.jsonl", context.config.online
        total, kept = context.config.task.train_size, recover_jsonl(path)
        more = online.beta if not kept and online.record_null else 0.0
        context.start(total, len(kept), "items")
        for item in range(len(kept), total):
            context.checkpoint()
            time.sleep(float(os.environ.get("ITEM_SECONDS", "0")))
            more = more if not kept else kept[0]["more"]
            append_jsonl(path, [{"value": context.seed(str(item)) % online.L, "more": more}])
            context.progress(item + 1, total)
        return StageResult({"items": total}, ["gather/items.jsonl"])


class Weigh:
    """Reads what was gathered, and `online.k_scale`."""

    def run(self, context: StageContext) -> StageResult:
        lines = recover_jsonl(context.run_dir / "gather/items.jsonl")
        context.start(1, unit="items")
        if context.config.online.k_scale < 0:
            raise DataError(what="a negative weight", where="online.k_scale", hint="raise it")
        weight = context.config.online.k_scale * sum(line["value"] + line["more"] for line in lines)
        write_atomic(context.run_dir / "weigh/weight.json", json.dumps({"weight": weight}) + "\n")
        value = weight / (1 + weight)
        verdict = Verdict(
            method="weighed", baseline="nothing", metric="accuracy", n=10, value=value, baseline_value=0.5,
            difference=value - 0.5, low=value - 0.6, high=value - 0.4,
        )  # fmt: skip
        return StageResult({"weight": weight}, ["weigh/weight.json"], verdict)
