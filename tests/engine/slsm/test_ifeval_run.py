"""The stage on IFEval's instructions: the model writes the turns in between, and each mode answers the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DataError
from engine.events import ConversationAnswered, ConversationOpened, Event, ModeScored
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.note import HEADER
from engine.slsm.policy import REMINDER
from engine.slsm.slsm_stage import RunSLSM
from engine.statistics import mcnemar
from tests.bench.make_ifeval_conversations import made
from tests.bench.print_slsm import answers_of, compared_pairs
from tests.engine.slsm.ifeval_lines import ifeval_jsonl
from tests.engine.slsm.note_following_model import NoteFollowingModel
from tests.engine.slsm.small_run import small_config
from tests.exactly import exactly

MODES = ["baseline", "reminder", "always", "on_detection", "remind_on_detection"]
COUNT = 24


class WillingModel(NoteFollowingModel):
    """Keeps an instruction only where a note says it; a reminder moves it in half of the conversations."""

    def __init__(self) -> None:
        super().__init__([])

    def answer(self, messages: Sequence[dict[str, str]], seed: int) -> str:
        instruction, last = messages[0]["content"], messages[-1]["content"]
        told = HEADER in last or (REMINDER in last and len(instruction + messages[2]["content"]) % 2 == 0)
        if not told:
            return f"Well, number {len(messages)}, the sea and a ship, {'word ' * 30}it is."
        if "Is there more" in instruction:
            return "Well. Is there more? I can help."
        return "It is well."


def run(
    folder: Path, model: NoteFollowingModel, checkpoint: Callable[[], None] = lambda: None, **slsm: Any
) -> list[Event]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "conversations.jsonl"
    path.write_bytes(made(ifeval_jsonl(COUNT), "ifeval.jsonl", tasks=2))
    events: list[Event] = []
    loaded: Any = model
    loaded.between = lambda call, working: checkpoint()
    config = small_config(**({"data": {"path": str(path)}, "compare": MODES, "batch_size": 5} | slsm))
    RunSLSM().run(StageContext("slsm", config, folder, events.append, checkpoint, lambda section: loaded))
    return events


def answered(events: list[Event]) -> dict[tuple[str, str], ConversationAnswered]:
    return {(one.mode, one.conversation_id): one for one in events if isinstance(one, ConversationAnswered)}


def test_every_mode_answers_the_same_conversation_with_the_models_own_turns(tmp_path: Path) -> None:
    model = WillingModel()
    events = run(tmp_path, model)
    opened = {one.conversation_id: one.turns for one in events if isinstance(one, ConversationOpened)}
    assert len(opened) == 16
    for turns in opened.values():
        assert [len(turn) for turn in turns] == [2, 2, 2, 1]
        # Each own turn answers all that was said before it: its number is the count of messages then.
        assert [turn[1].split(", ")[1] for turn in turns[:-1]] == ["number 1", "number 3", "number 5"]
    finals = [json.loads(asked) for asked, _ in model.asked if len(json.loads(asked)) == 7]
    histories = {tuple(message["content"] for message in messages[:-1]) for messages in finals}
    told = {tuple(text for turn in turns[:-1] for text in turn) for turns in opened.values()}
    assert histories == told, "the note alone differs between modes"
    one = answered(events)
    for key in opened:
        assert one["reminder", key].note == REMINDER
        assert one["reminder", key].memory_mode == "none"
        assert (one["reminder", key].controller_calls, one["reminder", key].model_calls) == (0, 1)
        assert one["always", key].note.startswith(HEADER)
        retried = one["remind_on_detection", key]
        assert (retried.memory_mode, retried.note, retried.detector_calls) == ("structured", REMINDER, 1)
        assert retried.first_answer == one["baseline", key].answer
        assert retried.answer == one["reminder", key].answer


def test_scores_and_pairs_are_those_of_the_answers(tmp_path: Path) -> None:
    events = run(tmp_path, WillingModel())
    one = answered(events)
    keys = {key for _, key in one}
    passed = {mode: [float(bool(one[mode, key].passed)) for key in sorted(keys)] for mode in MODES}
    assert sum(passed["always"]) == sum(passed["on_detection"]) == 16 and sum(passed["baseline"]) == 0
    assert 0 < sum(passed["reminder"]) < 16
    scores = {found.mode: found.score for found in events if isinstance(found, ModeScored)}
    assert scores["always"] == 1 and scores["baseline"] == 0
    rows = {(row["first"], row["second"]): row for row in compared_pairs(answers_of(tmp_path), 1)}
    assert len(rows) == 10
    row = rows["reminder none", "always structured"]
    lost = 16 - int(sum(passed["reminder"]))
    assert [int(row[name]) for name in ("n", "first_only", "second_only", "second_passes")] == [
        16,
        0,
        lost,
        16,
    ]
    assert float(row["p"]) == pytest.approx(mcnemar(passed["always"], passed["reminder"]))
    assert float(row["difference"]) == pytest.approx(1 - float(str(scores["reminder"])), abs=1e-6)
    assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
    assert float(rows["always structured", "on_detection structured"]["p"]) == 1


def test_a_killed_run_goes_on_with_the_turns_it_has(tmp_path: Path) -> None:
    run(tmp_path / "whole", whole := WillingModel())
    model, calls = WillingModel(), iter(range(40))

    def checkpoint() -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", model, checkpoint)
    assert layout.turns(tmp_path / "killed").read_text()
    run(tmp_path / "killed", model)
    for path in (layout.turns, layout.answers, layout.results, layout.modes):
        assert path(tmp_path / "killed").read_text() == path(tmp_path / "whole").read_text(), path.__name__
    kept = len(model.asked) - len(whole.asked)
    assert kept <= 5, "at most the batch under way is asked again"


def test_a_file_of_answers_cannot_write_the_turns(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"id": "x", "answer": "y"}')
    with pytest.raises(
        DataError,
        match=exactly(
            "earlier turns of these conversations are written by the model under test, which a file is not "
            "(slsm.answers.path): use `local` or `openai`, or data with all turns, such as MultiChallenge"
        ),
    ):
        run(
            tmp_path, WillingModel(), compare=["baseline"],
            answers={"kind": "file", "path": str(tmp_path / "answers.jsonl")},
        )  # fmt: skip
