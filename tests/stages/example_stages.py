"""Small stages for tests of the worker, named in a configuration as `example_stages:Class`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from engine.errors import DataError
from engine.events import Notice
from engine.files import append_jsonl, recover_jsonl
from engine.run.stage import StageContext, StageResult
from engine.scale.work import WorkContext


class Count:
    """Writes `task.train_size` records, one a checkpoint, and goes on where it was."""

    file = "count/items.jsonl"

    def run(self, context: StageContext) -> StageResult:
        path, total = context.run_dir / self.file, context.config.task.train_size
        done = len(recover_jsonl(path))
        context.start(total, done, "items")
        for item in range(done, total):
            context.checkpoint()
            time.sleep(float(os.environ.get("ITEM_SECONDS", "0")))
            append_jsonl(path, [{"item": item, "seed": context.seed(str(item))}])
            context.progress(item + 1, total, tokens=10)
        return StageResult({"items": total}, [self.file])


class CountAgain(Count):
    """A second stage."""

    file = "again/items.jsonl"


class Bug:
    """Does what nobody foresaw."""

    def run(self, context: StageContext) -> StageResult:
        raise ZeroDivisionError("a bug")


class BadData:
    """Meets what a user can mend."""

    def run(self, context: StageContext) -> StageResult:
        raise DataError(what="no such column", where="data.jsonl:3", hint="name it `question`")


class NotANumber:
    """Reports a figure that JSON cannot hold."""

    def run(self, context: StageContext) -> StageResult:
        return StageResult({"loss": float("nan")})


class Deaf:
    """Never looks whether it should stop, for a minute."""

    def run(self, context: StageContext) -> StageResult:
        context.start(1)
        time.sleep(60)
        return StageResult()


class Chatty:
    """Fills the disk with its log."""

    def run(self, context: StageContext) -> StageResult:
        context.start(1_000_000)
        for _ in range(1_000_000):
            context.checkpoint()
            context.emit(Notice(text="x" * 1000))
        return StageResult()


class _Process:
    """Work whose result is the process that does it; it prints that it is opened."""

    def open(self, context: WorkContext) -> Callable[[int], int]:
        print("opened", file=sys.stderr, flush=True)
        return lambda item: os.getpid()


class InReplicas:
    """Work in replicas, then in others: models were unloaded in between."""

    def run(self, context: StageContext) -> StageResult:
        first = set(context.prepare(_Process())(range(4)))
        context.unload_models()
        left = [pid for pid in first if os.path.exists(f"/proc/{pid}")]
        second = set(context.prepare(_Process())(range(4)))
        return StageResult(
            {"left": len(left), "both": len(first & second), "own": int(os.getpid() in first | second)}
        )
