"""Reports and cases: all methods, whole and offline, and whatever ids, notes and texts hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.blocks.block import Changes, Document, Facts, Heading, Picture, Remark, Table, Writing
from app.blocks.drawing import Drawing
from app.blocks.markdown import to_markdown
from app.cli import main
from app.methods.source import CaseSource
from app.report.case import case_document, open_command
from app.report.run_report import NO_VERDICT, _value, report
from app.report.source import read_run
from app.report.writer import SUFFIXES, safe, text_of, write_document
from app.runs.notes import Entry, Notes
from app.state.run import RunState
from engine.events import (
    AnswerJudged,
    ConversationAnswered,
    DecisionTaken,
    EntryPicked,
    Event,
    EvidenceAnswered,
    ExampleEvaluated,
    IterationBegan,
    MethodEvaluated,
    ModelLoaded,
    Notice,
    PairMined,
    PoolQueryDone,
    QuestionSampled,
    SelectorPicked,
    StageFinished,
    StagesChosen,
    WorkerStarted,
    WorkerStopped,
)
from engine.events.verdict import Verdict
from engine.run.directory import RunDirectory, StageRecord
from engine.run.find_event import find_event
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun
from tests.synthetic_slsm import slsm_events
from tests.two_runs import decided, evaluated, make_run

HOSTILE = (
    "</pre></td><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\x07\x00\u202e\ud800 "
    "\\input{/etc/passwd} $&#_{}%~^ `` ``` ]( | **b** \"'"
)
TAGS = {
    "span",
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "h3",
        "h4",
        "nav",
        "ul",
        "li",
        "a",
        "p",
    ),
    *(
        "div",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "dl",
        "dt",
        "dd",
        "pre",
        "ins",
        "del",
        "br",
    ),
    *("blockquote", "figure", "figcaption", "svg", "polyline", "circle", "text"),
}


class _Page(HTMLParser):
    """All tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words += data


def _offline(page: str) -> _Page:
    """Checks that a page consists of known tags and loads nothing."""
    read = _Page(page)
    assert read.tags <= TAGS
    for tag, name, value in read.attributes:
        assert name in {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "aria-label",
                        "xmlns", "viewbox", "role", "points", "stroke-dasharray", "cx", "cy", "r", "x", "y",
                        "text-anchor"}, (tag, name)  # fmt: skip
        assert name != "href" or re.fullmatch(r"#s\d+", value)
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style and "@import" not in style
    assert "default-src 'none'" in page
    return read


@pytest.fixture(scope="module")
def all_methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the events of all five methods and a mark and a note on an item of each kind."""
    run_events = [
        list(SyntheticRun(8, 6, 8).events()), list(evolution_events(3)), list(gflownet_events(60)), list(slsm_events()),
        list(pool_events()),
    ]  # fmt: skip
    events = [run_events[0][0], *chain.from_iterable(events[1:] for events in run_events)]
    run = make_run(tmp_path_factory.mktemp("outputs"), "all", events, versions={"steer-tui": "0.1.0"})
    notes = Notes(run)
    for seq in _one_of_each(events).values():
        notes.toggle_mark(seq, "")
        notes.add(seq, "", f"seen {seq}")
    notes.add(None, "", "about the run")
    return run


def _one_of_each(events: list[Event]) -> dict[type[Event], int]:
    kinds = (
        *(DecisionTaken, ExampleEvaluated, PairMined, EntryPicked, IterationBegan, AnswerJudged),
        *(QuestionSampled, EvidenceAnswered, ConversationAnswered, PoolQueryDone, SelectorPicked),
    )
    found = {type(event): seq for seq, event in enumerate(events)}
    return {kind: found[kind] for kind in kinds}


def test_a_report_of_all_methods_is_one_file_that_loads_nothing(all_methods: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert main(["report", str(all_methods), "--output", str(target)]) == 0
    page = target.read_text()
    assert len(page) < 2_000_000
    words = _offline(page).words
    methods = ["ESM", "Evolution", "GFlowNet", "SLSM", "Pool"]
    headings = re.findall(r">([^<]*)</h2>", page)
    assert headings[headings.index("ESM") : headings.index("Pool") + 2] == [
        *methods,
        "Marked cases and notes",
    ]
    for told in (
        "about the run",
        "Decision of",
        "Iteration",
        "Paths of",
        "Conversation",
        "Query",
        "Picks for",
    ):
        assert told in words
    assert f"steer-tui batch --config {all_methods}/config.yaml" in words
    assert page.count("<svg") >= 8
    assert len(re.findall(r"seen \d+", words)) == 11


def test_markdown_has_the_same_cases_and_its_pictures_beside_it(
    all_methods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(all_methods), "--md", "--output", str(tmp_path / "a b.md")]) == 0
    markdown = (tmp_path / "a b.md").read_text()
    assert len(re.findall(r"seen \d+", markdown)) == 11
    pictures = re.findall(r"!\[[^\]]*\]\((.*?)\)", markdown)
    assert pictures and pictures[0] == "a%20b-1.svg"
    written = capsys.readouterr().out.splitlines()
    assert sorted(written) == sorted(map(str, tmp_path.iterdir())) and len(written) == 1 + len(pictures)
    assert (tmp_path / "a b-1.svg").read_text().startswith("<svg")


def test_hostile_ids_notes_and_texts(tmp_path: Path) -> None:
    plain = HOSTILE.replace("\ud800", "?")  # no log can hold a half of a letter
    asked = evaluated("greedy", plain, False, text=plain, question=plain)
    events: list[Event] = [
        msgspec.structs.replace(asked, gold=plain, pred=plain),
        decided(plain, 1, gate=plain, chosen=plain, layer=1, null_segment="a " + plain, segment=plain),
        evaluated("esm", plain, True, text=f"other {plain}"),
        MethodEvaluated(method=plain, n=1, accuracy=1.0, mean_tokens=1.0, difference=0.5, low=0.1, high=0.9),
    ]
    run = make_run(tmp_path, "hostile", events)
    record = RunDirectory(run).read()
    record.changes = {HOSTILE.replace("\ud800", ""): plain, "model.api_key": "abcdef"}
    record.failure = plain
    RunDirectory(run).write(record)
    notes = Notes(run)
    for seq in range(3):
        notes.toggle_mark(seq, HOSTILE)
        notes.add(seq, HOSTILE, HOSTILE)
    document = safe(report(read_run(RunDirectory(run))), run)
    page = text_of(document, "html")
    words = _offline(page).words
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in words  # as text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", page)
    assert "abcdef" not in page
    markdown = text_of(document, "md")
    assert not re.search(r"(?<!\\)<script", re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", markdown))


def test_secrets_of_the_environment_are_struck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk<&very-secret>")
    run = make_run(
        tmp_path, "secret", [evaluated("greedy", "q", True, text="say sk<&very-secret> http://u:pw@host/")]
    )
    Notes(run).add(0, "", "the key is sk<&very-secret>")
    document = safe(report(read_run(RunDirectory(run))), run)
    for kind in ("html", "md"):
        text = text_of(document, kind)
        assert "very-secret" not in text and "pw@" not in text and "u:pw" not in text


def test_which_stages_are_of_an_earlier_attempt(tmp_path: Path) -> None:
    """Said under the name of their method, before its results; of a run whose stages are all of this one nothing is."""
    events = list(SyntheticRun(examples=2).events())
    texts = [
        to_markdown(report(read_run(RunDirectory(make_run(tmp_path, name, [*events, *more])))))
        for name, more in (("a", []), ("b", [StagesChosen(stale=["memory", "eval"], kept="earlier/1")]))
    ]
    assert "Stale, of an earlier attempt" not in texts[0]
    assert texts[1].count("Stale, of an earlier attempt: memory and eval.") == 1
    assert (
        texts[1].index("\n## ESM")
        < texts[1].index("memory and eval.")
        < texts[1].index("Methods, against greedy")
    )


def test_every_figure_of_the_findings_is_in_the_record(tmp_path: Path) -> None:
    run = make_run(tmp_path, "r", [evaluated("greedy", "q", True)])
    verdict = Verdict(method="esm", baseline="greedy", metric="accuracy", n=200, value=0.965, baseline_value=0.635,
                      difference=0.33, low=0.265, high=0.395, items="problems", fixed=66, broken=0)  # fmt: skip
    record = RunDirectory(run).read()
    record.stages["eval"] = StageRecord(status="finished", verdict=verdict)
    RunDirectory(run).write(record)
    page = text_of(report(read_run(RunDirectory(run))), "html")
    assert "ESM answers 96.5% of 200 problems right; greedy 63.5%: +33.0 points" in page
    assert "1 event in events.jsonl" in page


def test_what_a_document_means_nothing_to_its_form() -> None:
    table = Table(("a|b", "*x*"), [("[1] | 2", "`c`")], 1)
    changes = Changes("one three four\n```\nfive", "one two four\n```\nfive")
    document = Document(
        "# 1. _t_", [table, changes, Writing("```\nx"), Remark("- a", "1. b", "+ c\n---\n1. d")]
    )
    markdown = to_markdown(document)
    assert "| \\[1\\] \\| 2 | \\`c\\` |" in markdown
    assert "- one two four\n+ one three four" in markdown
    assert "````\n```\nx\n````" in markdown
    assert "> \\+ c\n> \\---\n> 1\\. d" in markdown


def test_a_case_of_its_own_names_the_command_that_opens_it(all_methods: Path, tmp_path: Path) -> None:
    source = read_run(RunDirectory(all_methods))
    seq = next(note.seq for note in source.written.notes if note.seq is not None)
    entry = find_event(all_methods / "events.jsonl", seq)
    assert entry is not None
    document = safe(case_document(entry.event, source.cases, source.written.of(seq)), all_methods)
    (html,) = write_document(document, "html", tmp_path / "case.html")
    assert f"steer-tui {all_methods}@{seq}" in _offline(html.read_text()).words


def test_the_first_event_of_a_log_is_opened_by_its_number_too() -> None:
    run = Path("out/my run")
    assert (
        open_command(run, 0) == "steer-tui 'out/my run@0'" and open_command(run) == "steer-tui 'out/my run'"
    )


def test_a_decision_shows_the_question_candidates_and_differences(tmp_path: Path) -> None:
    events = [
        evaluated("greedy", "q", False, text="two and two is five"),
        decided(
            "q",
            1,
            chosen="e1",
            layer=2,
            gate="chosen",
            segment="two and two is four",
            null_segment="two is five",
        ),
        evaluated("esm", "q", True, text="two and two is four", question="2+2?"),
    ]
    run = make_run(tmp_path, "r", events)
    source = read_run(RunDirectory(run)).cases
    page = text_of(case_document(msgspec.structs.replace(events[1], seq=1), source), "html")
    for told in ("2+2?", "injected at layer 2", "<del>five</del><ins>four</ins>", "2 ✗", "✓ right"):
        assert told in page


def test_events_are_found_by_number(
    all_methods: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    lines = (all_methods / "events.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:40], b"no event\n", *lines[40:], b'{"seq": 99']))
    data, wanted = path.read_bytes(), range(0, len(lines), 7)
    for near in (1 << 16, 100):
        monkeypatch.setattr("engine.run.find_event._NEAR", near)
        for seq in [*wanted, 39, 40, 41, len(lines) - 1]:
            entry = find_event(path, seq)
            assert entry is not None and entry.event.seq == seq
            assert data[entry.offset : entry.offset + entry.length] == lines[seq].rstrip(b"\n")
    assert find_event(path, len(lines)) is None


def test_a_log_that_is_not_there_has_no_cases(tmp_path: Path) -> None:
    run = make_run(tmp_path, "r", [StageFinished(seconds=1.0, stage="eval")])
    Notes(run).add(17, "lost", "where is it?")
    (run / "events.jsonl").unlink()
    source = read_run(RunDirectory(run))
    assert isinstance(source.cases, CaseSource)
    document = report(source)
    assert Heading("Event 17", 3) in document.blocks
    assert "The log has no event 17 that this version knows." in text_of(document, "html")


def test_answers_stand_beside_those_of_the_unchanged_model(tmp_path: Path) -> None:
    judged = AnswerJudged(
        iteration=0, split="baseline", example="q", question="?", gold="4", answer="well, 4", tokens=3
    )
    spoken = ConversationAnswered(
        conversation_id="c", axis="a", mode="baseline", memory_mode="none", attempt=0, answer="pear", injected=False,
        reason="none",
    )  # fmt: skip
    events: list[Event] = [
        judged,
        msgspec.structs.replace(judged, iteration=1, split="minibatch", answer="4", tokens=1),
        spoken,
        msgspec.structs.replace(spoken, mode="always", memory_mode="flat", answer="plum"),
    ]
    run = make_run(tmp_path, "r", events)
    source = read_run(RunDirectory(run)).cases
    pages = [text_of(case_document(event, source), "html") for event in events]
    assert "<del>well, </del>4" in pages[1] and "the unchanged model (3 tokens)" in pages[1]
    assert "<del>pear</del><ins>plum</ins>" in pages[3]
    assert not any("<del>" in page for page in (pages[0], pages[2]))


def test_the_time_of_a_report_is_the_overviews(tmp_path: Path) -> None:
    """Events come a second after one another: one second of a worker that was killed, and two of the next. The record
    knows but what the stage that ended took of the second."""
    events: list[Event] = [
        WorkerStarted(pid=1, attempt=1, stages=["eval"]), Notice(text="killed"),
        WorkerStarted(pid=2, attempt=2, stages=["eval"]), StageFinished(stage="eval", seconds=1.0),
        WorkerStopped(status="finished"),
    ]  # fmt: skip
    source = read_run(RunDirectory(make_run(tmp_path, "r", events)))
    source.status.record.stages["eval"] = StageRecord(status="finished", seconds=1.0)
    assert "- worked: 0:03 in 0 attempts" in to_markdown(report(source)).splitlines()


def test_lines_that_are_no_events_are_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path, "a", [decided("x", 1)])
    with (run / "events.jsonl").open("ab") as log:
        log.write(b"broken\nbroken\n")
    source = read_run(RunDirectory(run))
    assert source.damaged == 2
    assert "- lines of the log that are not events: 2" in to_markdown(report(source)).splitlines()


def test_a_report_from_a_log_that_ends_before_its_run_says_so(tmp_path: Path) -> None:
    """The second stage is finished in the record alone."""
    told = "The log ends before the run did: figures and rows may be missing."
    events = [StageFinished(stage="mine", seconds=1.0), WorkerStopped(status="stopped")]
    run = RunDirectory(make_run(tmp_path, "a", events))
    assert told not in to_markdown(report(read_run(run)))
    record = run.read()
    record.stages = {name: StageRecord(status="finished") for name in ("mine", "eval")}
    run.write(record)
    assert told in to_markdown(report(read_run(run))).splitlines()


def test_the_items_that_have_no_room_are_counted(tmp_path: Path) -> None:
    """60 of 63 are shown: three more; of 60 none is left out."""
    run = make_run(tmp_path, "a", [decided("x", 1)])
    notes = Notes(run)
    for seq in range(60):
        notes.toggle_mark(seq, "")
    text = to_markdown(report(read_run(RunDirectory(run))))
    assert "Event 59" in text and "more marked items" not in text
    for seq in range(60, 63):
        notes.toggle_mark(seq, "")
    text = to_markdown(report(read_run(RunDirectory(run))))
    assert "3 more marked items are in notes.jsonl of the run." in text.splitlines()
    assert "Event 59" in text and "Event 60" not in text


def test_a_report_says_what_was_run_and_how(tmp_path: Path) -> None:
    """All lines but those that tell when, in which folder and how to repeat it."""
    run = make_run(tmp_path, "a", [decided("x", 1)], seed=7, versions={"steer-tui": "0.1.0"})
    directory = RunDirectory(run)
    record = directory.read()
    record.stages["eval"] = StageRecord(status="finished", seconds=61.0, files=["one", "two"])
    record.changes = {"model.api_key": "abc", "online.L": 3}
    record.attempts = 2
    directory.write(record)
    Notes(run).toggle_mark(0, "")
    lines = to_markdown(report(read_run(directory))).splitlines()
    about = lines.index("- worked: 1:01 in 2 attempts")
    assert lines[0] == f"# a/{run.name}" and lines[about + 1 : about + 3] == [
        "- seed: 7",
        "- log: 1 event in events.jsonl, numbered from 0",
    ]
    made = lines.index("## How it was made")
    told = [line for line in lines[made:] if line.startswith("|") and "---" not in line]
    assert told == [
        "| stage | what it does | state | time | files |",
        "| eval | answers the test problems | finished | 1:01 | 2 |",
        "| field | value |", "| model.api\\_key | \\*\\*\\* |", "| online.L | 3 |",
        "| package | version |", "| steer-tui | 0.1.0 |",
    ]  # fmt: skip
    assert [line for line in lines if line.startswith(("## ", "### "))][-4:] == [
        "## Marked cases and notes", "### Decision of esm on x, segment 1", "## How it was made",
        "## To repeat it",
    ]  # fmt: skip


ASKED = [("Ann", "why?"), ("Ben", "a full disk")]


def test_an_event_without_a_page_of_its_own_is_shown_by_its_fields(tmp_path: Path) -> None:
    event = Notice(text="two\nlines", level="warning", seq=3, stage="eval", time=0.0)
    source = CaseSource(tmp_path / "a" / "1", RunState(), lambda *place: event)
    notes = [Entry(what="note", seq=3, text=text, author=by, time=0.0) for by, text in ASKED]
    document = case_document(event, source, notes)
    about, *above, fields, heading, command = document.blocks
    assert isinstance(about, Facts) and [row for row in about.rows if row[0] != "time"] == [
        ("run", "a/1"), ("stage", "eval"), ("event", "3"),
    ]  # fmt: skip
    assert [(each.author, each.text) for each in above if isinstance(each, Remark)] == ASKED
    assert isinstance(fields, Facts) and fields.rows == [("text", "two\nlines"), ("level", "warning")]
    assert heading == Heading("To open it in the console", 4) and document.title == "Notice 3"
    assert case_document(decided("x", 1), source).title == "Decision of esm on x, segment 1"
    long = case_document(Notice(text="y" * 2_001), source).blocks[1]
    assert isinstance(long, Facts) and long.rows[0] == ("text", "y" * 2_000 + " … 1 more characters")
    assert command == Writing(f"steer-tui {tmp_path}/a/1@3")
    done = StageFinished(seconds=1.0, stage="eval", summary={"accuracy": 0.5}, files=["é"])
    shown = next(block for block in case_document(done, source).blocks[1:] if isinstance(block, Facts))
    assert ("summary", '{"accuracy": 0.5}') in shown.rows and ("files", '["é"]') in shown.rows


def test_a_report_without_a_verdict_changes_or_notes(tmp_path: Path) -> None:
    loaded = ModelLoaded(
        name="m", backend="b", device="cpu", dtype="float32", num_layers=3, hidden_size=2,
        fingerprint="0123456789abcdefgh",
    )  # fmt: skip
    other = msgspec.structs.replace(loaded, fingerprint="other weights")
    run = make_run(tmp_path, "a", [loaded, other, loaded])
    text = to_markdown(report(read_run(RunDirectory(run))))
    assert NO_VERDICT == (
        "The log holds no verdict: no stage that evaluates a method has finished, or an earlier version ran it."
    )
    for line in (
        NO_VERDICT, "No field was set over the configuration file.", "| m | 3 | float32 | cpu | 0123456789abcdef |",
        "| m | 3 | float32 | cpu | other weights |",
        "With the versions above, the run's own configuration has every field and the seed:",
        "To look at it in the console:", f"steer-tui batch --config {run}/config.yaml", f"steer-tui {run}",
        "| model | layers | numbers | device | fingerprint |",
    ):  # fmt: skip
        assert line in text.splitlines(), line
    assert text.count("0123456789abcdef") == 1, "a model that is loaded twice"
    assert "Marked cases" not in text and "What was found" not in text and "not events" not in text


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("model.api_key", "abc", "***"), ("judge.apikey", "abc", "***"), ("x.Password", "abc", "***"),
        ("x.secret", "abc", "***"), ("hub.token", "abc", "***"), ("decode.tokens", "abc", '"abc"'),
        ("a.b", "é" * 400, '"' + "é" * 299 + " … 102 more characters"), ("a.b", None, "null"),
    ],
)  # fmt: skip
def test_secret_fields_are_struck_and_long_ones_cut(field: str, value: Any, shown: str) -> None:
    assert _value(field, value) == shown


def test_what_was_found_has_its_intervals_explained(tmp_path: Path) -> None:
    run = make_run(tmp_path, "r", [])
    record = RunDirectory(run).read()
    record.failure, record.status = "no room", "failed"
    record.stages["eval"] = StageRecord(status="finished", verdict=Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=2, value=1.0, baseline_value=0.5, difference=0.5, low=0.1,
        high=0.9,
    ))  # fmt: skip
    RunDirectory(run).write(record)
    Notes(run).add(None, "", "of the whole run")
    lines = to_markdown(report(read_run(RunDirectory(run)))).splitlines()
    found = lines.index("## What was found")
    assert lines[found + 2].startswith("- ESM answers 100.0% of 2 examples right; greedy 50.0%")
    assert lines[found + 4] == (
        "Differences are paired, over the same items, with bootstrap 95% intervals in brackets."
    )
    assert "- state: failed" in lines and "- failure: no room" in lines
    assert lines.index("## Marked cases and notes") < lines.index("> of the whole run")


def test_documents_are_written_with_their_pictures(tmp_path: Path) -> None:
    picture = Picture(Drawing(4, 2, []), "a plot")
    document = Document("t", [picture, picture])
    assert write_document(document, "html", tmp_path / "r.html") == [tmp_path / "r.html"]
    assert "<figure>" in (tmp_path / "r.html").read_text()
    target = tmp_path / "ö b.md"
    assert write_document(document, "md", target) == [target, tmp_path / "ö b-1.svg", tmp_path / "ö b-2.svg"]
    assert (
        "![a plot](%C3%B6%20b-1.svg)" in target.read_text() or "![a plot](ö%20b-1.svg)" in target.read_text()
    )
    drawn = (tmp_path / "ö b-2.svg").read_text()
    assert drawn.startswith("<svg") and "polyline{fill:none" in drawn and "stroke:#0b62a4" in drawn
    assert SUFFIXES == {"html": ".html", "md": ".md"}
