"""Component styles to draw text with: the theme's colour as it is on the widget's own background."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.widget import Widget


def tone(widget: Widget, component: str) -> Style:
    """Colour and attributes of a component class, without a background: half-transparent colours are blended
    with the widget's, which a partial style would not do."""
    return _without_background(widget.get_component_rich_style(component))


@lru_cache(maxsize=1024)
def _without_background(style: Style) -> Style:
    return style.without_color + Style(color=style.color)
