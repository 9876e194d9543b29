"""Small stages for tests of the worker, named in a configuration as `example_stages:Class`."""

from __future__ import annotations

import os
import time

from engine.errors import DataError
from engine.events import Notice
from engine.files import append_jsonl, recover_jsonl
from engine.run.stage import StageContext, StageResult


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
