"""The tones in which widgets draw text: the theme's colours as they are on the widget's own background."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.widget import Widget

from app.textual_internals import SelfSizedView

_STYLES = {
    "dim": "color: $text-muted;",
    "strong": "text-style: bold;",
    "good": "color: $text-success;",
    "bad": "color: $text-error; text-style: bold;",
    "accent": "color: $text-accent;",
    "warn": "color: $text-warning;",
    "alert": "color: $text-warning; text-style: bold;",
    "badge": "color: $text-warning; text-style: bold reverse;",
    "done": "color: $primary;",
    "rest": "color: $text-disabled;",
}


class Toned(Widget):
    """A widget that draws in tones."""

    COMPONENT_CLASSES = {f"tone--{name}" for name in _STYLES}
    DEFAULT_CSS = "".join(f".tone--{name} {{ {style} }}\n" for name, style in _STYLES.items())


class TonedView(SelfSizedView):
    """A scrolling view that draws in tones."""

    COMPONENT_CLASSES = Toned.COMPONENT_CLASSES
    DEFAULT_CSS = Toned.DEFAULT_CSS


def tone(widget: Widget, name: str) -> Style:
    """Colour and attributes of a tone, or of a component class of the widget, without a background: half-transparent
    colours are blended with the widget's, which a partial style would not do."""
    component = f"tone--{name}" if name in _STYLES else name
    return _without_background(widget.get_component_rich_style(component))


@lru_cache(maxsize=1024)
def _without_background(style: Style) -> Style:
    return style.without_color + Style(color=style.color)
