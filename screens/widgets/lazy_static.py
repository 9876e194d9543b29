"""A text that changes often, in the room that it has."""

from __future__ import annotations

from textual.visual import VisualType
from textual.widgets import Static


class LazyStatic(Static):
    """Drawn again only where it says something else; the screen is laid out anew only where it then needs more or fewer
    lines. A layout takes as long as drawing the whole screen."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        if _same(content, self.content):
            return
        super().update(content, layout=False)
        if layout and self.styles.auto_dimensions and self._lines_needed() != self.content_size.height:
            self.refresh(layout=True)

    def _lines_needed(self) -> int:
        width = self.content_size.width
        return self.visual.get_height(self.styles.get_rules(), width) if width else -1


def _same(one: VisualType, other: VisualType) -> bool:
    """Also in the style of the whole, which texts are equal without."""
    return one == other and getattr(one, "style", None) == getattr(other, "style", None)
