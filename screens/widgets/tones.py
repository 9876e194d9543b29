"""The tones in which widgets draw text: the theme's colours as they are on the widget's own background."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.color import TRANSPARENT
from textual.style import Style as VisualStyle
from textual.widget import Widget

_STYLES = {
    "dim": "{text-muted}", "strong": "bold", "good": "{text-success}", "bad": "bold {text-error}",
    "accent": "{text-accent}", "warn": "{text-warning}", "alert": "bold {text-warning}",
    "badge": "bold reverse {text-warning}", "done": "{primary}", "rest": "{text-disabled}",
    # Of charts:
    "title": "bold {text}", "axis": "{text-muted}", "faint": "{foreground} 60%",
    "point": "bold {text}", "line-0": "{text-accent}", "line-1": "{text-primary}", "line-2": "{text-success}",
    "line-3": "{text-error}",
}  # fmt: skip


def tone(widget: Widget, name: str) -> Style:
    """Colour and attributes of a tone, or of a component class of the widget, without a background: half-transparent
    colours are blended with the widget's, which a partial style would not do.

    Tones are no component classes: Textual would look all of them up for each widget, at each change of its style."""
    if name not in _STYLES:
        return _without_background(widget.get_component_rich_style(name))
    app = widget.app
    meant = app.stylesheet.parse_style(_STYLES[name].format_map(app.theme_variables))
    return _on(widget.visual_style, meant)


@lru_cache(maxsize=1024)
def _on(widget: VisualStyle, tone: VisualStyle) -> Style:
    style = widget + tone
    ground = style.background or TRANSPARENT
    # What is chosen for contrast is half-transparent.
    opaque = ground + (ground + (style.foreground or TRANSPARENT))
    return _without_background(style.rich_style + Style(color=opaque.rich_color))


@lru_cache(maxsize=1024)
def _without_background(style: Style) -> Style:
    return style.without_color + Style(color=style.color)
