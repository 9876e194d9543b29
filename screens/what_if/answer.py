"""The what-if of a method whose answers are texts: committed, none and yours side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text

from engine.events import AnswerTried, OtherAnswer
from screens.what_if.drawing import Column, draw_columns, draw_exact, draw_strip, draw_verdict
from screens.what_if.screen import Palette, WhatIfScreen


class AnswerWhatIf(WhatIfScreen[AnswerTried]):
    """A subclass may have several tries at once, a strip with one sign each."""

    STRIP: ClassVar[str] = ""
    """What several tries differ in, in a few letters."""

    def draw_tried(self, tried: AnswerTried, palette: Palette, width: int) -> RenderableType:
        parts: list[RenderableType] = [draw_exact(tried.exact, tried.difference, "answer", palette)]
        if len(tried.yours) > 1:
            strip = [
                (strength, answer.right, self.short(answer, tried))
                for strength, answer in zip(self.strengths(tried), tried.yours, strict=True)
            ]
            parts.append(draw_strip(self.STRIP, strip, palette, width))
        shown = most_telling(tried)
        columns = [
            (f"committed: {tried.committed.given}", tried.committed),
            (tried.none.given, tried.none),
            (f"yours: {shown.given}", shown),
        ]
        drawn = [Column(name, self.about(answer, tried, palette), answer.text) for name, answer in columns]
        return Group(*parts, Text(), draw_columns(drawn, palette, width))

    def strengths(self, tried: AnswerTried) -> Sequence[float]:
        """What stands over each sign of the strip."""
        return range(1, len(tried.yours) + 1)

    def short(self, answer: OtherAnswer, tried: AnswerTried) -> str:
        """An answer in five characters."""
        return answer.text

    def about(self, answer: OtherAnswer, tried: AnswerTried, palette: Palette) -> Sequence[Text]:
        """The lines between an answer's heading and its text."""
        words = answer.verdict or (
            "not judged" if answer.right is None else "right" if answer.right else "wrong"
        )
        return [draw_verdict(answer.right, words, "", palette)]


def most_telling(tried: AnswerTried) -> OtherAnswer:
    """Of several tries the first that turns the verdict round, else the first that changes the text."""
    committed, yours = tried.committed, tried.yours
    turned = (answer for answer in yours if answer.right != committed.right)
    changed = (answer for answer in yours if answer.text != committed.text)
    return next(turned, None) or next(changed, None) or yours[0]
