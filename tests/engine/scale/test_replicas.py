"""Replicas on this machine and on a real Ray cluster: order, errors, deaths, and the stages' artefacts to the byte."""

from __future__ import annotations

import itertools
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine import events as ev
from engine.config.config import Config
from engine.config.file import load_config
from engine.config.scale import ScaleSection
from engine.errors import ConfigError, DataError, ModelError, RunError
from engine.lm.loading.load import load_model
from engine.run.gate import StopRequested
from engine.run.registry import resolve_stage
from engine.run.stage import StageContext
from engine.scale.spread import ReplicaSpread
from engine.scale.work import Spread, WorkContext, in_process
from tests.engine.scale.processes import descendants, listening
from tests.engine.scale.ray_head import ray_head
from tests.engine.scale.works import (
    Devices,
    DiesOnce,
    DiesWhenOpened,
    Fails,
    OwnWeights,
    Processes,
    Reports,
    Squares,
)
from tests.kill_and_resume import DEMO

pytestmark = pytest.mark.ray
_AGAIN = r"batches to do again after a resume: (\d+) \(replicas had them\)"
SMALL_ESM = (
    "task.train_size=8", "task.eval_size=4", "offline_mine.K=4", "offline_mine.batch_size_examples=2",
    "online.batch_size_examples=2", "eval.batch_size_greedy=2", "eval.ablations=[]", "offline_select.B=10",
)  # fmt: skip


@pytest.fixture(scope="module", params=["local", "ray"])
def cluster(request: pytest.FixtureRequest) -> Iterator[ReplicaSpread]:
    """Two replicas."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        address = None if request.param == "local" else stack.enter_context(ray_head())[0]
        patch.delenv("RAY_AUTH_MODE", raising=False)
        spread = ReplicaSpread(ScaleSection(replicas=2, address=address))
        stack.callback(spread.close)
        yield spread


def place(events: list[ev.Event], checkpoint: Any = lambda: None) -> WorkContext:
    return WorkContext(load_model, checkpoint, events.append)


# ---------------------------------------------------------------- order, errors, deaths


def test_results_come_in_order(cluster: ReplicaSpread) -> None:
    events: list[ev.Event] = []
    found = list(cluster(Squares(), place(events))(range(40)))
    assert found == [n * n for n in range(40)]
    notices = [event.text for event in events if isinstance(event, ev.Notice)]
    assert sorted(notices) == sorted(f"item {n}" for n in range(40)), "each is reported once"
    by_process = Counter(cluster(Processes(), place([]))(range(40)))
    assert len(by_process) == 2 and min(by_process.values()) >= 5, "one replica did it all"


def test_what_a_replica_reports_is_logged_while_it_works(cluster: ReplicaSpread, tmp_path: Path) -> None:
    """Each item goes on only when its own report has been logged."""

    class Log(list[ev.Event]):
        def append(self, event: ev.Event) -> None:
            super().append(event)
            if isinstance(event, ev.Notice):
                (tmp_path / event.text).touch()

    events = Log()
    found = list(cluster(Reports(str(tmp_path)), place(events))(range(4)))
    assert found == [True] * 4, "a report came with the result"
    assert sorted(e.text for e in events if isinstance(e, ev.Notice)) == ["0", "1", "2", "3"]


def test_items_are_drawn_as_they_are_needed(cluster: ReplicaSpread) -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1000):
            drawn.append(n)
            yield n

    results = cluster(Squares(), place([]))(items())
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    assert len(drawn) < 20
    assert list(cluster(Squares(), place([]))([])) == []


def test_a_stop_is_obeyed_while_replicas_work(cluster: ReplicaSpread) -> None:
    calls = [0]

    def checkpoint() -> None:
        calls[0] += 1
        if calls[0] > 5:
            raise StopRequested

    events: list[ev.Event] = []
    with pytest.raises(StopRequested):
        list(cluster(Squares(), place(events, checkpoint))(range(1000)))
    texts = [event.text for event in events if isinstance(event, ev.Notice)]
    (again,) = (found for text in texts if (found := re.fullmatch(_AGAIN, text)))
    assert 1 <= int(again[1]) <= 8, "four for each of two replicas at most"


def test_errors_arrive_as_they_were_raised(cluster: ReplicaSpread) -> None:
    with pytest.raises(ConfigError) as config:
        list(cluster(Fails("config"), place([]))(range(9)))
    assert [problem.where for problem in config.value.problems] == ["a.b"]
    assert "a.b: found 1, expected 2" in str(config.value)
    with pytest.raises(DataError, match="nothing there") as data:
        list(cluster(Fails("open"), place([]))(range(9)))
    assert (data.value.where, data.value.hint) == ("some/file", "put something there")
    with pytest.raises(ZeroDivisionError, match="by zero"):
        list(cluster(Fails("unforeseen"), place([]))(range(9)))


def test_a_dead_replica_is_replaced_and_its_items_are_done_again(
    cluster: ReplicaSpread, tmp_path: Path
) -> None:
    events: list[ev.Event] = []

    def items() -> Iterator[int]:
        for n in itertools.count():
            if n > 30 and any(isinstance(event, ev.ReplicaStarted) and event.life > 1 for event in events):
                return
            yield n

    work = DiesOnce(str(tmp_path / "died"), fatal=11)
    found = list(cluster(work, place(events))(items()))
    assert found == [-n for n in range(len(found))] and len(found) > 30
    (lost,) = [event for event in events if isinstance(event, ev.ReplicaLost)]
    assert lost.redone >= 1 and lost.reason
    (told_of,) = [event for event in events if isinstance(event, ev.Notice) and event.level == "warning"]
    assert told_of.text.startswith(f"replica {lost.replica} died (items to do again: {lost.redone}): ")
    again = [event for event in events if isinstance(event, ev.ReplicaStarted)][-1]
    assert (again.replica, again.life) == (lost.replica, lost.life + 1)


def test_what_kills_every_replica_is_named(cluster: ReplicaSpread) -> None:
    with pytest.raises(RunError, match=r"same item .number 3"):
        list(cluster(Fails("kill"), place([]))(range(9)))
    with pytest.raises(RunError, match="died before they were ready"):
        list(cluster(DiesWhenOpened(), place([]))(range(9)))
    assert list(cluster(Squares(), place([]))(range(3))) == [0, 1, 4], "the cluster is of no use any more"


def test_other_weights_are_refused_also_when_another_stage_loaded_them(
    cluster: ReplicaSpread, tmp_path: Path
) -> None:
    """The first work is done with by one replica before the other has its model."""
    work = OwnWeights(str(tmp_path / "first"))
    assert next(cluster(work, place([]))([1])) == 1
    try:
        with pytest.raises(ModelError, match="own has other weights"):
            list(cluster(work, place([]))(range(400)))
    finally:
        cluster.close()


def test_nothing_listens_to_the_network(cluster: ReplicaSpread) -> None:
    list(cluster(Squares(), place([]))(range(3)))
    found = listening({os.getpid(), *descendants(os.getpid())})
    assert all(address in ("127.0.0.1", "::1") for address in found)
    assert bool(found) == bool(cluster._section.address), "without Ray nothing listens at all"


def test_who_is_given_no_gpu_sees_none_on_ray(cluster: ReplicaSpread) -> None:
    """On this machine it sees what the worker sees."""
    here = os.environ.get("CUDA_VISIBLE_DEVICES")
    assert set(cluster(Devices(), place([]))(range(4))) == {"" if cluster._section.address else here}


# ---------------------------------------------------------------- the stages


def run(
    names: tuple[str, ...],
    config: Config,
    folder: Path,
    spread: Spread,
    events: list[ev.Event] | None = None,
) -> list[ev.Event]:
    events = [] if events is None else events
    for name in names:
        context = StageContext(name, config, folder, events.append, lambda: None, load_model, spread=spread)
        resolve_stage(name).run(context)
    return events


def told(events: list[ev.Event]) -> list[ev.Event]:
    """What the stages said, without times and paces."""
    scale = (ev.ClusterJoined, ev.ReplicaStarted, ev.ReplicaLost, ev.ModelLoaded)
    found: list[ev.Event] = []
    for event in events:
        waits = isinstance(event, ev.Notice) and "replicas are not ready" in event.text  # on a busy machine
        if not isinstance(event, scale) and not waits:
            volatile = {"elapsed", "tokens_per_second", "time"} & set(event.__struct_fields__)
            found.append(msgspec.structs.replace(event, **dict.fromkeys(volatile, 0.0)))
    return found


def by_item(events: list[ev.Event]) -> dict[tuple[str, str], list[ev.Event]]:
    """What was said of each example under each method, in its order; what is about none of them under no name."""
    found: dict[tuple[str, str], list[ev.Event]] = {}
    for event in events:
        found.setdefault((getattr(event, "method", ""), getattr(event, "example", "")), []).append(event)
    return found


def artefacts(folder: Path) -> dict[str, bytes]:
    """Vector pictures hold ids drawn at random; LMDB's pages tell of every commit."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".svg", ".mdb")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_files_and_events_are_those_of_one_process(cluster: ReplicaSpread, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    names, config = ("mine", "select", "memory", "eval"), load_config(DEMO, list(SMALL_ESM))
    alone = run(names, config, here, in_process)
    together = run(names, config, there, cluster)
    assert artefacts(there) == artefacts(here)
    assert by_item(told(together)) == by_item(told(alone))


def test_a_replica_killed_from_outside_changes_nothing(cluster: ReplicaSpread, tmp_path: Path) -> None:
    """One of them, when the first example is told."""
    names, config = ("mine",), load_config(DEMO, list(SMALL_ESM))
    run(names, config, tmp_path / "whole", in_process)
    pids = sorted(set(cluster(Processes(), place([]))(range(12))))
    assert len(pids) == 2

    class Killing(list[ev.Event]):
        def append(self, event: ev.Event) -> None:
            super().append(event)
            if isinstance(event, ev.RolloutsMined) and pids:
                os.kill(pids.pop(), signal.SIGKILL)

    events = Killing()
    run(names, config, tmp_path / "killed", cluster, events)
    assert any(isinstance(event, ev.ReplicaLost) for event in events)
    assert artefacts(tmp_path / "killed") == artefacts(tmp_path / "whole")
