"""Component styles to draw text with: the theme's colour as it is on the widget's own background."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


def tone(widget: Widget, component: str) -> Style:
    """Colour and attributes of a component class, without a background: half-transparent colours are blended
    with the widget's, which a partial style would not do."""
    style = widget.get_component_rich_style(component)
    return style.without_color + Style(color=style.color)
