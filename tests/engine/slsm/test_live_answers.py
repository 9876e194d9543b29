"""An answer of a conversation is reported when it is given; the files stay in the order of the variants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.config.file import load_config
from engine.events import ConversationAnswered, Event
from engine.files import read_jsonl, write_jsonl
from engine.lm.loading.load import load_model
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.slsm_stage import RunSLSM
from tests.engine.slsm.small_run import small_config
from tests.engine.slsm.stage_run import DIALOGUES, note_following_model, run_slsm
from tests.kill_and_resume import DEMO

SMALL = (
    "slsm={model: {backend: embedded, path: dialogues}, controller: {kind: rules}, "
    "compare: [baseline, always, on_detection], "
    "compare_memory: [structured], data: {conversations: 6}, max_new_tokens: 24, batch_size: 6, concurrency: 2}",
)
Key = tuple[str, str, str, int]


def test_answers_are_reported_before_their_batch_is_stored(tmp_path: Path) -> None:
    """One batch of six conversations: the first answer is reported while the model still writes others."""
    seen: list[tuple[int, int, ConversationAnswered]] = []
    passes = 0

    def emit(event: Event) -> None:
        if isinstance(event, ConversationAnswered):
            stored = layout.answers(tmp_path)
            lines = len(stored.read_bytes().splitlines()) if stored.exists() else 0
            seen.append((passes, lines, event))

    def count(mark: object, working: object) -> None:
        nonlocal passes
        passes += 1

    config = load_config(DEMO, list(SMALL))
    model = load_model(config.slsm_model)
    model.between = count
    context = StageContext("slsm", config, tmp_path, emit, lambda: None, lambda section: model)
    RunSLSM().run(context)
    reports: dict[Key, list[ConversationAnswered]] = {}
    for _, _, event in seen:
        key = event.conversation_id, event.mode, event.memory_mode, event.attempt
        reports.setdefault(key, []).append(event)
    assert seen[0][1] == 0, "the first batch of answers was stored before one was reported"
    assert seen[0][0] < 24, "the first call was through before an answer was reported"
    results = read_jsonl(layout.results(tmp_path))
    assert len(results) == len(reports) == 18
    for line in results:
        mine = reports[line["conversation_id"], line["mode"], line["memory_mode"], line["attempt"]]
        assert len(mine) == 1, "the exact judge judges at once"
        assert (mine[0].answer, mine[0].passed, mine[0].verdict) == (
            line["answer"], line["passed"], line["verdict"],
        )  # fmt: skip
    assert [line["mode"] for line in results] == ["baseline"] * 6 + ["always"] * 6 + ["on_detection"] * 6


def test_a_resumed_run_reports_what_is_there_before_it_asks(tmp_path: Path) -> None:
    """Of two conversations: answers without a note are there, those with one are asked for again."""
    run_slsm(tmp_path, n=2, compare=["baseline", "always"])
    layout.results(tmp_path).unlink()
    kept = [line for line in read_jsonl(layout.answers(tmp_path)) if not line["note"]]
    assert len(kept) == 2
    write_jsonl(layout.answers(tmp_path), kept)
    events: list[Event] = []
    reported: list[list[str]] = []
    model: Any = note_following_model(2)
    model.between = lambda call, working: reported.append(
        [event.mode for event in events if isinstance(event, ConversationAnswered)]
    )
    config = small_config(data={"conversations": 2}, compare=["baseline", "always"])
    RunSLSM().run(StageContext("slsm", config, tmp_path, events.append, lambda: None, lambda section: model))
    assert reported[0] == ["baseline"] * 2


def test_an_answer_without_a_conflict_is_reported_before_the_second_ones_are_asked_for(
    tmp_path: Path,
) -> None:
    events: list[Event] = []
    reported: list[int] = []
    model: Any = note_following_model()
    model.between = lambda call, working: reported.append(
        sum(isinstance(event, ConversationAnswered) for event in events)
    )
    config = small_config(data={"conversations": DIALOGUES}, compare=["on_detection"])
    RunSLSM().run(StageContext("slsm", config, tmp_path, events.append, lambda: None, lambda section: model))
    second = sum("first_answer" in line for line in read_jsonl(layout.results(tmp_path)))
    assert 0 < second < DIALOGUES
    assert reported[0] == 0 and reported[-1] >= DIALOGUES - second
