"""What a stage declares to read and to write is what it reads, of the configuration and of the files of earlier stages,
and what it writes; and it can be begun again."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from app.runs.client import choose_stage, prepare_resume
from engine.config.config import Config
from engine.config.file import load_config
from engine.config.stages import STAGES, all_needs, stage_inputs
from engine.run import worker
from engine.run.directory import RunDirectory
from engine.run.stage import StageContext
from engine.run.stage_files import result_files
from tests.kill_and_resume import SYSTEMS, artefacts, prepared
from tests.recorded_config import recorded

CHECKS = (
    "engine.esm.mining.mine_stage.evaluation_examples",
    "engine.evolution.clusters.clusters_stage.check_services",
)
"""What reads the configuration of a later stage, only to refuse to work."""
ELSEWHERE = {
    "mine": {"task.fields", "task.compare"},  # task.dataset: files
    "memory": {"prompt.system", "control_points.M"},  # offline_memory.imports
    "select": {"offline_mine.verify"},  # no candidates
    "clusters": {
        "model",
        "task",
        "prompt",
        "evolution.pool",
    },  # evolution.questions: task; evolution.financebench
    "evolve": {"model", "task", "prompt"},
    "answer": {"model"},  # answer.reader: model
}
"""What a stage reads under other settings than here, which its comment names."""
NOT_DECLARED = {"run.stages"}
"""What stages are in the run is compared by itself."""


@dataclass
class Read:
    """Fields and files that stages have read."""

    fields: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class Opened:
    """An audit hook cannot be taken away: it notes files while it has a folder and a set to note them in."""

    folder: Path | None = None
    stage = ""
    read: Read

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self.folder is not None and isinstance(arguments[0], str | Path):
            path = Path(arguments[0])
            if path.is_relative_to(self.folder) and path.exists():
                self.read.files[self.stage].add(path.relative_to(self.folder).as_posix())


OPENED = Opened()
sys.addaudithook(OPENED)


@contextmanager
def noted(run_dir: Path, patch: pytest.MonkeyPatch) -> Iterator[Read]:
    """What the stages of a run in this process read."""
    read = Read()

    def context(name: str, config: Config, *rest: Any) -> StageContext:
        OPENED.stage = name
        fields = read.fields[name]
        return StageContext(name, recorded(config, fields.update), *rest)

    OPENED.stage = ""
    patch.setattr(worker, "StageContext", context)
    for check in CHECKS:
        patch.setattr(check, lambda config: [])
    OPENED.folder, OPENED.read = run_dir, read
    try:
        yield read
    finally:
        OPENED.folder = None


def covers(declared: set[str], name: str) -> bool:
    """Whether a field is declared, itself or the section that it is in."""
    return any(name == one or name.startswith(f"{one}.") for one in declared)


def is_on_the_way(declared: set[str], name: str) -> bool:
    """Whether it is a section through which a declared field is reached."""
    return any(one.startswith(f"{name}.") for one in declared)


def writer(file: str) -> str:
    """The stage that has written it, "" for a file of the run."""
    patterns = {pattern: name for name, entry in STAGES.items() for pattern in entry.writes}
    return next((name for pattern, name in patterns.items() if fnmatch(file, f"{pattern}*")), "")


TOGETHER = {
    "esm": ("offline_mine.batch_size_examples=4", "online.batch_size_examples=4", "eval.batch_size_greedy=4"),
    "evolution": ("evolution.batch_size=8",),
}
"""What is read and written does not depend on how many texts are written at a time."""
_SHARED = {"gflownet/dropped.json": "agent-graphs", "pool/evaluated.jsonl": "selector"}
"""Files to which a later stage adds, too."""


@dataclass
class Worked:
    """A finished run of a system: what its stages read, and the files that each made or changed."""

    run: RunDirectory
    read: Read
    written: dict[str, set[str]]


def work(run: RunDirectory) -> None:
    """As a worker does, in this process."""
    assert worker.run_worker(run.path) == 0, run.read().failure


@pytest.fixture(scope="module", params=[*SYSTEMS])
def worked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    """Stage after stage."""
    settings = (*SYSTEMS[request.param], *TOGETHER.get(request.param, ()))
    run = prepared(tmp_path_factory.mktemp(request.param), request.param, settings)
    stages, written, before = list(run.read().stages), {}, {}
    with pytest.MonkeyPatch.context() as patch, noted(run.path, patch) as read:
        for at, stage in enumerate(stages):
            prepare_resume(run, stages[: at + 1])
            work(run)
            after = result_files(run.path)
            written[stage] = {name for name, stamp in after.items() if before.get(name) != stamp}
            before, OPENED.stage = after, ""
    return Worked(run, read, written)


def test_a_stage_reads_what_it_declares(worked: Worked) -> None:
    config, read = load_config(worked.run.config), worked.read
    assert set(read.fields) == set(config.run.stages)
    for name, fields in read.fields.items():
        declared = set(stage_inputs(name, config) or {}) - {"scale"}
        missing = {one for one in fields if not covers(declared | NOT_DECLARED, one)}
        missing = {one for one in missing if not is_on_the_way(declared | NOT_DECLARED, one)}
        assert missing == set(), f"{name} reads what it does not declare"
        unread = {one for one in declared if not any(covers({one}, known) for known in fields)}
        assert unread == ELSEWHERE.get(name, set()), f"{name} declares what it does not read"
        writers = {writer(file) for file in read.files[name]}
        assert set(STAGES[name].needs) <= writers, f"{name} needs no file of a stage that it declares to need"
        assert writers <= {"", name} | all_needs(name), (
            f"{name} reads files of stages that it does not declare"
        )


def test_stages_write_what_they_declare(worked: Worked) -> None:
    folder, written = worked.run.path, worked.written
    for stage, names in written.items():
        own = [path for pattern in STAGES[stage].writes for path in folder.glob(pattern)]
        outside = {name for name in names if not any((folder / name).is_relative_to(path) for path in own)}
        assert {name for name in outside if _SHARED.get(name) != stage} == set(), stage
        others = {name for other, theirs in written.items() if other != stage for name in theirs - names}
        assert not {name for name in others if any((folder / name).is_relative_to(path) for path in own)}


def test_the_second_stage_begun_again_ends_as_if_it_had_not_been(worked: Worked) -> None:
    run, stages = worked.run, list(worked.written)
    before = artefacts(run)
    choose_stage(run, "again", stages[min(1, len(stages) - 1)])
    prepare_resume(run)
    work(run)
    assert artefacts(run) == before
    moved = result_files(run.path / "earlier")
    assert len(moved) >= len(worked.written[stages[-1]] - _SHARED.keys())


def test_every_stage_but_the_server_declares_what_it_reads() -> None:
    undeclared = {name for name in STAGES if stage_inputs(name, Config()) is None}
    assert undeclared == {"serve"}


def test_a_switch_and_the_place_of_the_work_count() -> None:
    off, on = (Config.model_validate({"offline_mine": {"verify": verify}}) for verify in (False, True))
    assert {"online.k_scale", "online.beta"} <= set(stage_inputs("mine", on) or {})
    inputs = stage_inputs("mine", off)
    assert inputs is not None and not any(name.startswith("online") for name in inputs)
    assert inputs["scale"] == off.scale and inputs["task.train_size"] == 200
