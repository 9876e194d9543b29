"""What stands in documents beside a method's own blocks: moments, items in words, drawings, cleaned texts."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.style import Style
from rich.text import Text

from app.blocks.block import Document, Paragraph, Span, spans
from app.blocks.drawing import Dot, Drawing, Label, Line, styles, svg
from app.blocks.model_text import Safe, clean, model_text, one_line, tail
from app.report.item_words import item_words
from app.report.times import clock
from app.report.writer import safe
from engine import events as ev


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, ""),
        (-1.0, ""),
        (1.0, "1970-01-01 00:00 UTC"),
        (1e300, ""),
        (1_760_000_000.0, "2025-10-09 08:53 UTC"),
    ],
)
def test_a_moment(seconds: float, words: str) -> None:
    assert clock(seconds) == words


def test_a_moment_is_the_same_in_every_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight hours ahead of UTC the local clock says 16:53."""
    monkeypatch.setenv("TZ", "XXX-8")
    time.tzset()
    try:
        assert time.strftime("%H:%M", time.localtime(1_760_000_000.0)) == "16:53"
        assert clock(1_760_000_000.0) == "2025-10-09 08:53 UTC"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ev.ExampleEvaluated(method="esm", index=0, example="t-1", question="", gold="", pred="", correct=True,
                             tokens_used=1), "answer of esm to t-1"),
        (ev.DecisionTaken(method="esm", example="t-1", m=2, gate="chosen"), "decision of esm on t-1, segment 2"),
        (ev.PoolQueryDone(query_id="q", question="", answers={}, given_pool=0, pool_before=[], pool_after=[],
                          similarity=[], referenced=[], injected=[], trajectories=[], oracle_before=0.0,
                          oracle_after=0.0), "query q"),
        (ev.Notice(seq=12, text="x"), "Notice 12"),
    ],
)  # fmt: skip
def test_an_item_in_words(event: ev.Event, words: str) -> None:
    assert item_words(event) == words


def test_a_drawing_as_svg() -> None:
    """A label's base line lies 3.5 below its middle; lines beyond the first have dashes."""
    marks: list[Line | Dot | Label] = [
        Line([(0, 1.25), (2, 3)], "c0"), Line([(0, 0)], "c1"), Dot(1.06, 2, "c2"),
        Label(5, 6, "a<b", "end"),
    ]  # fmt: skip
    assert svg(Drawing(100, 20.5, marks), 'a "name"', "x{}") == (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 20.5" role="img" aria-label="a &quot;name&quot;">'
        '<style>x{}</style><polyline class="c0" points="0,1.2 2,3"/>'
        '<polyline class="c1" points="0,0" stroke-dasharray="7 3"/>'
        '<circle class="c2" cx="1.1" cy="2" r="3.5"/><text x="5" y="9.5" text-anchor="end">a&lt;b</text></svg>'
    )
    assert "<style>" not in svg(Drawing(1, 1, []), "n")


def test_colours_by_day_and_by_night() -> None:
    day, night = styles(dark=False), styles(dark=True)
    assert day.startswith(".c0{stroke:#0b62a4}circle.c0{fill:#0b62a4}.c1{stroke:#b04a00}")
    assert night.startswith(".c0{stroke:#6cb2eb}circle.c0{fill:#6cb2eb}.c1{stroke:#f0a35e}")
    assert day.endswith("svg text{fill:#333}.axis,.zero{stroke:#333}.grid{stroke:#d9dee4}")
    assert night.endswith("svg text{fill:#d8dde3}.axis,.zero{stroke:#d8dde3}.grid{stroke:#3b434d}")


def test_texts_of_models_are_made_safe_and_visible() -> None:
    assert clean("a\r\n\tb\x1b[31mc\x07\u202e") == "a\n    bc"
    assert one_line("a\r\nb") == "a⏎b" and one_line("x" * 20_000) == "x" * 20_000
    assert one_line("x" * 20_001) == "x" * 20_000 + "…"
    assert [tail("abcdef", n) for n in (6, 5)] == ["abcdef", "…bcdef"]
    mark = Style(dim=True)
    drawn = {text: model_text(text, Style.null(), mark) for text in ("a", "a\nb", "a\n", "a\n\nb", "a\n\n")}
    assert {text: found.plain for text, found in drawn.items()} == {
        "a": "a", "a\nb": "a⏎\nb", "a\n": "a⏎", "a\n\nb": "a⏎\n⏎\nb", "a\n\n": "a⏎\n⏎",
    }  # fmt: skip
    assert [(span.start, span.end, span.style) for span in drawn["a\nb"].spans] == [(1, 2, mark)]
    console = Console(file=io.StringIO(), width=20)
    console.print(Safe(Text("a\x1b[2Jb\u202ec")))
    assert console.file.getvalue().rstrip() == "abc"  # type: ignore[attr-defined]


def test_a_document_holds_nothing_that_is_hidden(tmp_path: Path) -> None:
    text = "a\r\nb\u2028c\ud800d\ufeffe\u200bf\x1bg http://me:pw@host/"
    made = safe(Document("t\x07", [Paragraph((Span(text, "bad"), "end"), "dim")]), tmp_path)
    assert made.title == "t"
    [block] = made.blocks
    assert isinstance(block, Paragraph) and block.tone == "dim"
    assert spans(block.text) == [Span("a\nb\nc?defg http://***@host/", "bad"), Span("end")]
