"""What the stages of `sweep_stages` read, declared as an installed package would: this folder and the repository's root
are on `PYTHONPATH` where another process has to know."""

from __future__ import annotations

from typing import ClassVar

from engine.config.method import MethodSections, StageEntry

_MODULE = "tests.stages.sweep_stages"


class SweepSections(MethodSections):
    """Two stages and no section."""

    stage_entries: ClassVar = (
        StageEntry(
            f"{_MODULE}:Gather", f"{_MODULE}:Gather", writes=("gather",),
            reads=("run.seed", "task.train_size", "online.L", "online.record_null"),
            reads_if={"online.record_null": ("online.beta",)},
        ),
        StageEntry(
            f"{_MODULE}:Weigh", f"{_MODULE}:Weigh", (f"{_MODULE}:Gather",), ("weigh",), reads=("online.k_scale",)
        ),
    )  # fmt: skip
