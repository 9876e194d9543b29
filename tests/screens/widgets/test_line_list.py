"""Lines of which one is chosen: by keys, with a sign before it."""

from __future__ import annotations

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding

from screens.widgets.line_list import LineList


class ListApp(App[None]):
    def compose(self) -> ComposeResult:
        yield LineList()


def test_help_has_a_sentence_for_each_key() -> None:
    bindings = [binding for binding in LineList.BINDINGS if isinstance(binding, Binding)]
    assert len(bindings) == 5 and all(binding.tooltip for binding in bindings)


async def test_keys_move_the_sign_before_the_chosen_line() -> None:
    """The ends are not joined; other lines of the same number take the place of those before."""
    async with ListApp().run_test(size=(40, 12)) as pilot:
        lines = pilot.app.query_one(LineList)
        lines.focus()
        lines.show([Text(name) for name in "abcd"], 1)

        def drawn() -> str:
            return "|".join(str(option.prompt) for option in lines.options)

        seen = [drawn()]
        for key in ("j", "k", "k", "up", "G", "j", "g", "down", "up", "end", "home"):
            await pilot.press(key)
            seen.append(drawn())
        lines.show([Text(name) for name in "efgh"], 3)
        seen.append(drawn())
        lines.show([Text("i"), Text("k")], None)
        seen.append(drawn())
        await pilot.press("j")
        seen.append(drawn())
    at = ["› a|  b|  c|  d", "  a|› b|  c|  d", "  a|  b|› c|  d", "  a|  b|  c|› d"]
    assert seen == [
        at[1], at[2], at[1], at[0], at[0], at[3], at[3], at[0], at[1], at[0], at[3], at[0], "  e|  f|  g|› h",
        "  i|  k", "› i|  k",
    ]  # fmt: skip
