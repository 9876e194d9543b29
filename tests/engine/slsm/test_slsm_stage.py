"""The stage stopped and killed anywhere: it ends as if it never had been, and asks nothing twice."""

from __future__ import annotations

import csv
import json
import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.events import (
    ConversationAnswered,
    ConversationOpened,
    Event,
    ModeScored,
    SLSMBegan,
    StageProgress,
    StageStarted,
    StateUpdated,
)
from engine.run.gate import StopRequested
from engine.run.stage import StageContext, StageResult
from engine.seeds import derive_seed
from engine.slsm import layout, slsm_stage
from engine.slsm.controllers.controller import Detection, Update
from engine.slsm.controllers.rule_controller import RuleController
from engine.slsm.slsm_stage import RunSLSM, _SLSMRun, variants_of
from engine.slsm.state import State
from engine.slsm.turns import Turn
from engine.tasks.generated.dialogues.records import generate_dialogues
from tests.bench.print_slsm import answers_of, compared_pairs
from tests.engine.slsm.small_run import small_config
from tests.engine.slsm.stage_run import ALL, DIALOGUES, note_following_model, run_slsm
from tests.misbehaving_server import MisbehavingServer, misbehaving_server

ASKED_TURNS = sum(len(dialogue.turns) + 1 for dialogue in generate_dialogues(DIALOGUES, 0))
VARIANTS = 1 + 4 * 2


class CountingController:
    """The rule controller, which is asked from several threads; what it was asked is counted."""

    name = RuleController.name

    def __init__(self) -> None:
        self._rules = RuleController()
        self._guard = threading.Lock()
        self.updates: Counter[tuple[object, ...]] = Counter()
        self.detections: Counter[tuple[object, ...]] = Counter()

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        with self._guard:
            self.updates[type(state).__name__, tuple(turns)] += 1
        return self._rules.update(state, turns)

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        with self._guard:
            self.detections[type(state).__name__, tuple(turns)] += 1
        return self._rules.detect(state, turns, answer)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> CountingController:
    found = CountingController()
    monkeypatch.setattr(slsm_stage, "make_controller", lambda context: found)
    return found


@dataclass(frozen=True)
class Whole:
    """The folder of a run that nothing stopped, and what its controller was asked."""

    folder: Path
    asked: CountingController

    def copy(self, folder: Path) -> Path:
        """The run's files once more."""
        return Path(shutil.copytree(self.folder, folder))


MakeWhole = Callable[[int], Whole]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> MakeWhole:
    """`whole(32)`: with this size of batches; made once."""

    @cache
    def make(batch_size: int) -> Whole:
        made = Whole(tmp_path_factory.mktemp("whole") / "run", CountingController())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(slsm_stage, "make_controller", lambda context: made.asked)
            run_slsm(made.folder, batch_size=batch_size, **ALL)
        return made

    return make


def stopping(allowed: int) -> Callable[[], None]:
    left = [allowed]

    def checkpoint() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopRequested

    return checkpoint


def run_stopped(folder: Path, rng: random.Random, most: int, **slsm: Any) -> tuple[int, list[Event]]:
    """Stop after up to `most` checkpoints again and again until it is done: how often, and all it said."""
    config = small_config(data={"conversations": DIALOGUES}, **slsm)
    events: list[Event] = []
    model: Any = note_following_model()
    for stops in range(200):
        checkpoint = stopping(rng.randint(2, most))
        model.between = lambda call, working, stop=checkpoint: stop()
        try:
            RunSLSM().run(
                StageContext("slsm", config, folder, events.append, checkpoint, lambda section: model)
            )
        except StopRequested:
            continue
        return stops, events
    raise AssertionError("it never came to an end")


def files(folder: Path) -> dict[str, object]:
    """Content by name; of what is written as replies come, the lines without their order."""
    loose = (layout.states(folder), layout.detections(folder), layout.verdicts(folder))
    return {
        path.name: sorted(path.read_text().splitlines()) if path in loose else path.read_bytes()
        for path in sorted(layout.folder(folder).iterdir())
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("batch_size", "most"), ((5, 30), (32, 45)))
def test_stopped_anywhere_it_ends_as_if_never_stopped(
    whole: MakeWhole, tmp_path: Path, counting: CountingController, seed: int, batch_size: int, most: int
) -> None:
    once = whole(batch_size)
    stops, events = run_stopped(tmp_path, random.Random(seed), most, batch_size=batch_size, **ALL)
    assert stops >= 2
    assert files(tmp_path) == files(once.folder)
    assert counting.updates == once.asked.updates, "asked twice, or not at all"
    assert counting.detections == once.asked.detections
    assert sum(counting.updates.values()) == 2 * ASKED_TURNS
    assert sum(counting.detections.values()) == 2 * DIALOGUES
    updates = {(e.conversation_id, e.memory_mode, e.turn) for e in events if isinstance(e, StateUpdated)}
    assert len(updates) == 2 * ASKED_TURNS
    answered = {
        (e.conversation_id, e.mode, e.memory_mode) for e in events if isinstance(e, ConversationAnswered)
    }
    assert len(answered) == VARIANTS * DIALOGUES


@pytest.mark.parametrize("asked", ("last", "earlier"))
def test_what_a_server_answered_behind_a_slow_request_is_kept_at_a_stop(tmp_path: Path, asked: str) -> None:
    """Two at once, of twelve: one waits all the while, the other asks ten times before it waits, too. So it is with the
    last answers, and with an earlier one that the data leave open."""
    talk = [{"role": "user", "content": "a"}]
    if asked == "earlier":
        talk += [{"role": "assistant", "content": None}, {"role": "user", "content": "b"}]  # type: ignore[dict-item]
    lines = [json.dumps({"id": str(number), "messages": talk}) for number in range(12)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    file = layout.answers(tmp_path) if asked == "last" else layout.turns(tmp_path)
    server: MisbehavingServer

    def run(checkpoint: Callable[[], None]) -> None:
        openai = {"base_url": server.url, "api_key_env": "none"}
        run_slsm(
            tmp_path, checkpoint=checkpoint, disable_controller=True, concurrency=2, judge={"kind": "none"},
            data={"path": str(tmp_path / "chats.jsonl")}, answers={"kind": "openai", "openai": openai},
        )  # fmt: skip

    def stop() -> None:
        if len(server.requests) == 12:
            raise StopRequested

    with (
        misbehaving_server(lambda body: "so", ["hang", *[""] * 10, "hang"]) as server,
        pytest.raises(StopRequested),
    ):
        run(stop)
    assert len(file.read_text().splitlines()) == 10
    with misbehaving_server(lambda body: "so") as server:
        run(lambda: None)
        assert len(server.requests) == (2 if asked == "last" else 14)


def test_a_finished_run_does_nothing_again(
    whole: MakeWhole, tmp_path: Path, counting: CountingController
) -> None:
    folder, model = whole(32).copy(tmp_path / "run"), note_following_model()
    events = run_slsm(folder, model, batch_size=32, **ALL)
    assert files(folder) == files(whole(32).folder)
    assert not counting.updates and not model.asked
    (started,) = (event for event in events if isinstance(event, StageStarted))
    assert (started.done, started.total) == (DIALOGUES, DIALOGUES)
    assert len([event for event in events if isinstance(event, ModeScored)]) == VARIANTS


@pytest.mark.parametrize(
    "slsm",
    [{"compare": ["baseline"]}, {"compare": ["always"]}, {"compare": ["always"], "judge": {"kind": "none"}}],
    ids=["no memory", "no detections", "no verdicts"],
)
def test_a_finished_run_that_needs_fewer_files_does_nothing_again(
    tmp_path: Path, slsm: dict[str, Any]
) -> None:
    run_slsm(tmp_path, n=2, **slsm)
    assert not [event for event in run_slsm(tmp_path, n=2, **slsm) if isinstance(event, ConversationOpened)]


@pytest.mark.parametrize("name", ("states", "answers", "detections", "verdicts", "results"))
def test_a_torn_last_line_is_written_again(whole: MakeWhole, tmp_path: Path, name: str) -> None:
    folder = whole(32).copy(tmp_path / "run")
    path = getattr(layout, name)(folder)
    lines = path.read_bytes()
    if name != "results":
        layout.results(folder).unlink()  # written last
    path.write_bytes(lines[: lines.rstrip().rfind(b"\n") + 9])
    run_slsm(folder, batch_size=32, **ALL)
    assert files(folder) == files(whole(32).folder)


def test_of_a_batch_that_was_written_in_part_the_rest_is_told(tmp_path: Path) -> None:
    """The result of the last of three conversations was not written any more."""
    slsm: dict[str, Any] = {"compare": ["baseline"], "batch_size": 3}
    run_slsm(tmp_path, n=3, **slsm)
    path = layout.results(tmp_path)
    *kept, last = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept))
    told = [event for event in run_slsm(tmp_path, n=3, **slsm) if isinstance(event, ConversationAnswered)]
    assert [event.conversation_id for event in told] == [json.loads(last)["conversation_id"]]
    assert path.read_text() == "".join([*kept, last])


@pytest.mark.parametrize(
    ("path", "axes", "scores"),
    [
        ("x.jsonl", ["SELF_COHERENCE"], {"score_as_published_baseline_none": 1.0}),
        ("x.jsonl", ["SELF_COHERENCE", "another"], {}),
        (None, ["SELF_COHERENCE"], {}),
    ],
)
def test_only_the_benchmark_s_own_axes_are_scored_as_its_authors_do(
    path: str | None, axes: list[str], scores: dict[str, float]
) -> None:
    stage: Any = _SLSMRun.__new__(_SLSMRun)
    passed = ConversationAnswered(
        conversation_id="c", axis="SELF_COHERENCE", mode="baseline", memory_mode="none", attempt=0, answer="",
        injected=False, reason="", passed=True,
    )  # fmt: skip
    talk = SimpleNamespace(id="c")
    vars(stage).update(
        section=SimpleNamespace(data=SimpleNamespace(path=path)), variants=[("baseline", "none")], attempts=1,
        dialogues=SimpleNamespace(axes=axes, conversations=[talk]), results={("c", "baseline", "none", 0): passed},
    )  # fmt: skip
    assert stage._as_published() == scores


@pytest.mark.parametrize("name", ("states", "answers", "detections", "verdicts"))
def test_a_file_that_was_removed_is_written_again(whole: MakeWhole, tmp_path: Path, name: str) -> None:
    """While the results are there."""
    folder = whole(32).copy(tmp_path / "run")
    getattr(layout, name)(folder).unlink()
    run_slsm(folder, batch_size=32, **ALL)
    assert files(folder) == files(whole(32).folder)


def test_what_it_says_is_what_its_files_say(tmp_path: Path) -> None:
    results: list[StageResult] = []
    events = run_slsm(tmp_path, results=results, **ALL)
    (began,) = (event for event in events if isinstance(event, SLSMBegan))
    assert len(began.variants) == VARIANTS and began.conversations == DIALOGUES
    assert began.compared == "on_risk", "the run's mode"
    assert (began.controller, began.model) == ("rules (offline)", "follows notes by rule") and len(
        began.axes
    ) == 4
    opened = [event for event in events if isinstance(event, ConversationOpened)]
    assert sum(len(event.turns) for event in opened) == ASKED_TURNS
    assert all(len(event.turns[-1]) == 1 for event in opened)
    rows = [json.loads(line) for line in layout.results(tmp_path).read_text().splitlines()]
    answered = [event for event in events if isinstance(event, ConversationAnswered)]
    assert sorted((row["conversation_id"], row["answer"], row["passed"]) for row in rows) == sorted(
        (event.conversation_id, event.answer, event.passed) for event in answered
    )
    with layout.modes(tmp_path).open() as file:
        table = list(csv.DictReader(file))
    scored = [event for event in events if isinstance(event, ModeScored)]
    assert [(row["mode"], row["memory_mode"], float(row["score"])) for row in table] == [
        (event.mode, event.memory_mode, event.score) for event in scored
    ]
    assert [float(table[0][str(axis)]) for axis, *_ in scored[0].by_axis] == [
        part[1] for part in scored[0].by_axis
    ]
    assert list(table[0]) == [
        "mode", "memory_mode", "n", "judged", "score", "low", "high", "difference", "difference_low", "difference_high",
        "injections", "injected_tokens", "controller_calls", "model_calls", "detector_calls", "controller_tokens",
        "model_tokens", "detector_tokens", "cost", "fixed", "wasted", "broke", "failures", "cut", "unanswered",
        *[axis for axis, *_ in scored[0].by_axis],
    ]  # fmt: skip
    assert results[0].files == [
        f"slsm/{name}" for name in ("results.jsonl", "states.jsonl", "modes.csv", "summary.json")
    ]
    summary = json.loads(layout.summary(tmp_path).read_text())
    assert summary["score_always_flat"] == pytest.approx(next(
        event.score for event in scored if (event.mode, event.memory_mode) == ("always", "flat")
    ), abs=1e-4)  # fmt: skip
    progress = [event.done for event in events if isinstance(event, StageProgress)]
    assert progress == sorted(progress) and progress[-1] == DIALOGUES
    verdict = results[0].verdict
    assert verdict is not None and (verdict.method, verdict.baseline) == ("on_risk", "baseline")
    score = {(event.mode, event.memory_mode): event.score for event in scored}
    assert (verdict.value, verdict.baseline_value) == pytest.approx(
        (score["on_risk", "structured"], score["baseline", "none"])
    )
    seed = derive_seed(small_config(**ALL).run.seed, "slsm", "pairs")
    pair = next(
        row
        for row in compared_pairs(answers_of(tmp_path), seed)
        if (row["first"], row["second"]) == ("baseline none", "on_risk structured")
    )
    assert (verdict.n, verdict.fixed, verdict.broken) == (
        pair["n"], pair["second_only"], pair["first_only"],
    )  # fmt: skip
    assert (verdict.difference, verdict.low, verdict.high) == pytest.approx(
        tuple(pair[name] for name in ("difference", "low", "high")), abs=1e-5
    )


@pytest.mark.parametrize(
    ("section", "variants"),
    (
        ({}, [("on_risk", "structured")]),
        ({"inject": "always", "memory_mode": "flat"}, [("always", "flat")]),
        ({"disable_controller": True, "inject": "always"}, [("baseline", "none")]),
        ({"compare": ["baseline"], "compare_memory": ["structured", "flat"]}, [("baseline", "none")]),
        ({"compare": ["never", "never"], "compare_memory": ["flat"]}, [("never", "flat")]),
        (
            {"compare": ["baseline", "always"], "compare_memory": ["structured", "flat"]},
            [("baseline", "none"), ("always", "structured"), ("always", "flat")],
        ),
    ),
)
def test_variants(section: dict[str, Any], variants: list[tuple[str, str]]) -> None:
    assert variants_of(small_config(**section).slsm) == variants


@pytest.mark.parametrize(
    ("variant", "failures"),
    [(("on_detection", "flat"), 3), (("always", "flat"), 2), (("remind_on_detection", "structured"), 2),
     (("baseline", "none"), 0)],
)  # fmt: skip
def test_failures_of_the_controller_are_those_of_the_memory(variant: tuple[str, str], failures: int) -> None:
    """Two updates of the flat memory were lost; of its detections one failed, of the other memory's two."""

    def kept(*given: tuple[str, str]) -> dict[int, Any]:
        return {
            number: SimpleNamespace(
                memory_mode=memory, failure=failure, event=SimpleNamespace(failure=failure)
            )
            for number, (memory, failure) in enumerate(given)
        }

    run: Any = object.__new__(_SLSMRun)
    run.tracker = SimpleNamespace(states=kept(("flat", "a"), ("flat", "b"), ("flat", ""), ("structured", "")))
    run.records = SimpleNamespace(
        detections=kept(("flat", "c"), ("flat", ""), ("structured", "d"), ("structured", "e"))
    )
    assert run._failures(variant) == failures
