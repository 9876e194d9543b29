"""An answer of a conversation is reported when it is given; the files stay in the order of the variants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from engine.config.file import load_config
from engine.events import ConversationAnswered, Event
from engine.files import read_jsonl, write_jsonl
from engine.lm.loading.load import load_model
from engine.run.stage import StageContext
from engine.servers.client import ServerFailed
from engine.servers.spent import Spent
from engine.slsm import layout, slsm_stage
from engine.slsm.answering import ConversationAnswerer
from engine.slsm.chat_model import ChatAnswer, ChatAsk, Given
from engine.slsm.judges.judge import AnswerVerdict
from engine.slsm.multichallenge import Criterion
from engine.slsm.records import VerdictRecord
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


class PassedJudge:
    """A judge of one's own passes every answer; `judged`: how many verdicts had been reported before each one."""

    name = "passes"
    judged: ClassVar[list[int]] = []
    events: ClassVar[list[Event]] = []

    def judge(self, criterion: Criterion, answer: str) -> AnswerVerdict:
        answered = [event for event in self.events if isinstance(event, ConversationAnswered)]
        self.judged.append(sum(event.passed is not None for event in answered))
        return AnswerVerdict(True, "so it is")


def test_a_judge_s_verdict_is_reported_before_the_next_one_is_asked_for(tmp_path: Path) -> None:
    PassedJudge.judged, PassedJudge.events = [], []
    config = small_config(
        data={"conversations": 3}, compare=["baseline"], concurrency=1,
        judge={"kind": f"{__name__}:PassedJudge"},
    )  # fmt: skip
    model: Any = note_following_model(3)
    emit = PassedJudge.events.append
    RunSLSM().run(StageContext("slsm", config, tmp_path, emit, lambda: None, lambda section: model))
    assert PassedJudge.judged == [0, 1, 2]
    answered = [event for event in PassedJudge.events if isinstance(event, ConversationAnswered)]
    assert [(one.passed, one.verdict) for one in answered] == [(None, "")] * 3 + [(True, "so it is")] * 3


class RefusingModel:
    """A server that refuses each request, perhaps as it is set up wrongly; but for those of `answered`."""

    name = "refusing"

    def __init__(self, answered: set[int], content: bool) -> None:
        self._answered, self._content, self.asked = answered, content, 0

    def answer(self, asks: Sequence[ChatAsk], checkpoint: object, keep: Given, early: Given) -> None:
        refused = ServerFailed(what="no such model", where="w", hint="h")
        for number in range(len(asks)):
            self.asked += 1
            if self.asked in self._answered:
                keep(number, ChatAnswer("Yes.", Spent()))
            else:
                suspect = None if self._content else refused
                keep(number, ChatAnswer("", Spent(), failure="no such model", suspect=suspect))

    def count_tokens(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize(
    ("answered", "content", "kept"),
    [(set(), False, None), ({9}, False, None), ({8}, False, 12), ({1}, False, None), (set(), True, 12)],
)
def test_eight_refusals_in_a_row_that_may_be_the_servers_end_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: set[int], content: bool, kept: int | None
) -> None:
    """They are asked again when the run goes on; where an answer came between, or it is about the content, each is a
    failed answer."""
    model = RefusingModel(answered, content)
    monkeypatch.setattr(slsm_stage, "make_chat_model", lambda context, dialogues: model)
    if kept is None:
        with pytest.raises(ServerFailed, match="no such model"):
            run_slsm(tmp_path, compare=["baseline"])
        stored = read_jsonl(layout.answers(tmp_path)) if layout.answers(tmp_path).exists() else []
        assert len(stored) == len([one for one in answered if one == 1])
        assert model.asked == 8 + len(stored)
    else:
        run_slsm(tmp_path, compare=["baseline"])
        failures = [line["failure"] for line in read_jsonl(layout.answers(tmp_path))]
        assert failures == ["" if one in answered else "no such model" for one in range(1, kept + 1)]


def test_a_refused_answer_is_neither_looked_at_nor_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two conversations the second is refused for what it says; the first is answered, and once more after a
    conflict. There is one detection, and one verdict."""
    model = RefusingModel({1, 3}, True)
    monkeypatch.setattr(slsm_stage, "make_chat_model", lambda context, dialogues: model)
    run_slsm(tmp_path, n=2, compare=["on_detection"])
    first, second = (line["conversation_id"] for line in read_jsonl(layout.results(tmp_path)))
    assert {line["conversation_id"] for line in read_jsonl(layout.detections(tmp_path))} == {first}
    assert {line["conversation_id"] for line in read_jsonl(layout.verdicts(tmp_path))} == {first}
    refused = [line for line in read_jsonl(layout.answers(tmp_path)) if line["conversation_id"] == second]
    assert [line["note"] for line in refused] == [""], "it is not answered a second time"


@pytest.mark.parametrize(
    ("passed", "strict", "verdict"),
    [
        (None, True, (False, "no verdict, so failed: why")),
        (None, False, (None, "why")),
        (False, True, (False, "why")),
        (True, True, (True, "why")),
    ],
)
def test_only_an_answer_without_a_verdict_says_so(
    passed: bool | None, strict: bool, verdict: tuple[bool | None, str]
) -> None:
    answerer: Any = ConversationAnswerer.__new__(ConversationAnswerer)
    record = VerdictRecord("c", "said", passed, "why", Spent())
    vars(answerer).update(
        judge=None, records=SimpleNamespace(verdicts={("c", "said"): record}),
        section=SimpleNamespace(judge=SimpleNamespace(failures_fail=strict)),
    )  # fmt: skip
    event = ConversationAnswered(
        conversation_id="c", axis="", mode="always", memory_mode="flat", attempt=0, answer="said", injected=True,
        reason="",
    )  # fmt: skip
    judged = answerer._judged(event)
    assert (judged.passed, judged.verdict) == verdict


@pytest.mark.parametrize(("criteria", "passed"), [({"c": "it"}, False), ({}, None)])
def test_no_answer_fails_where_there_is_something_to_judge_by(
    criteria: dict[str, str], passed: bool | None
) -> None:
    answerer: Any = ConversationAnswerer.__new__(ConversationAnswerer)
    judge = SimpleNamespace(criteria=criteria, at_once=lambda key: None)
    vars(answerer).update(judge=judge, records=SimpleNamespace(verdicts={}))
    event = ConversationAnswered(
        conversation_id="c", axis="", mode="always", memory_mode="flat", attempt=0, answer="", injected=True,
        reason="", failure="too long",
    )  # fmt: skip
    judged = answerer._judged(event)
    assert (judged.passed, judged.verdict) == (passed, "" if passed is None else "no answer: too long")
