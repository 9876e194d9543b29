"""Writes screens/README.md from the help texts and commands of the screens: `python -m tests.screens.readme`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode

from app.keys.commands import EVERYWHERE, METHOD_KEYS, NOTING, RUN, TIMELINE
from app.keys.key_rows import KeyRow, key_rows
from app.methods.page import MethodPage
from app.methods.pages import page_of
from app.methods.what_if import HELP_OF_ALL
from screens.compare.screen import CompareScreen
from screens.esm.decisions import DecisionsPane
from screens.evolution.screen import EvolutionScreen
from screens.leaving import LeaveScreen
from screens.levers.screen import LeversScreen
from screens.new_run import NewRunScreen
from screens.notes.screen import NotesScreen
from screens.overview.screen import OverviewScreen
from screens.overview.stages import StagesPanel
from screens.panels.search import SearchScreen
from screens.panes.cases import CasesPane
from screens.runs.screen import RunsScreen
from screens.slsm.chat import ChatPane
from screens.start_form import StartFormScreen
from screens.sweep.screen import SweepScreen
from screens.tabbed_screen import COMMANDS, TabbedScreen
from screens.what_if.screen import WhatIfScreen
from screens.widgets.tables.virtual_table import VirtualTable
from screens.widgets.timeline import Timeline

README = Path(__file__).resolve().parents[2] / "screens" / "README.md"
_INTRODUCTION = """\
# The console

Every screen draws the log of a run and nothing else. So all screens work alike for a live run, for one that was
started in another terminal, and for one that ended last year. They work at 80x24 and use more room where there is
more; below 60 columns they say so, and the run continues. `NO_COLOR` is obeyed: no meaning is shown by colour alone. A
terminal that is not set to UTF-8 gets a warning and signs of ASCII: `+` right, `x` wrong, `^` better, `v` worse.

A letter means one thing in the whole console: what the first three tables say is not repeated for each screen. The
footer lists the keys that do something here and now, `?` all of them, and `^p` finds every command by its words;
*Dark/light* and *Stop after* have no key. `esc` closes what is open, or goes one level up.

`p` pauses the engine after its current item, `p` again continues. `r` *resumes* a run that stopped, was interrupted or
failed: it starts a worker again. `space` freezes only the view: the header shows FROZEN and how many events it is
behind. A run opens with its overview; the header names its methods with their state and number: `alt` and the number,
or a click on it or on a stage, goes there, `o` back to the overview. `F` follows the work from method to method. Where
a run failed, a click on the header's word shows why. Stages and time line are shown while something
works or the view is in the past; `[` goes there, `L` comes back.

On a method's screen `m` marks the row under the cursor (◆) and `;` writes a note on it (◇; ◈ where it has both); `M`
lists all marks and notes. They are kept beside the log. `Y` writes the row as Markdown and as an HTML file that opens
offline. Both name the command that opens the console there: `steer-tui RUN@EVENT`; EVENT is the number of the row's
event in the log. `y` copies the row with it.
"""
_TEXTS: dict[Any, str] = {
    StagesPanel: """\
# Stages

The stages of the run, in their order; `↑` `↓` choose one. Below stands what each key would do to it, or why it cannot.

`b` begins it again *from here on*: it and the stages that rest on it are done anew, and a worker starts at once; the
run must not be running. What they left is kept in the folder `earlier/` of the run. Until they are done anew their
results are *stale* ◌ everywhere, and old results are never mixed with new ones. `-` skips ⊘ it, and with it the stages
that need it; `Z` makes it the last one: all after it are skipped. Both also work during a run; the same key on the same
stage takes it back. `S` stops the stage at work, and with it the run; `r` on the run's screen goes on there.

For scripts: `steer-tui ctl stage again|skip|last|stop RUN STAGE`.
""",
    SearchScreen: """\
# Search

Type words or ids. Every row of every method whose texts have all of them is listed: decisions, pairs, entries, answers,
questions, conversations, queries. `↑` `↓` choose one, `enter` goes there.
""",
    Timeline: """\
The run's log from its first event to its last, spaced by events. The screens show the run at the event under the
cursor `◆`; a click moves it. Names stand where stages start; `!` is a warning, `✗` a failure, `‖` a pause,
`↻` a resumed run. `[` `]` step one event, `{` `}` one decision, example or stage; `,` replays from here (idle times
are cut to a second), `.` replays faster, `0` goes to the start, `L` to the live end.
""",
    LeaveScreen: """\
# Leaving

`q` quits. While a run is still running, it asks first: `^d` quits and lets the engine continue, `S` stops it after its
current item and keeps what is finished. `Ctrl+C` stops and keeps without asking, prints where, and quits with exit code
130; where this console only watches a run that was started elsewhere, it asks first, and `Ctrl+C` again detaches. Where
nothing is running, both quit at once.
""",
}
"""Of what has no help on the screen."""
_SECTIONS: Sequence[tuple[type[DOMNode] | MethodPage, str, Sequence[tuple[str, str]]]] = (
    (RunsScreen, "", [("runs", "The list of runs")]),
    (NewRunScreen, "", []),
    (StartFormScreen, "", []),
    (OverviewScreen, "", []),
    (SearchScreen, "", []),
    (StagesPanel, "", []),
    (LeversScreen, "", []),
    (
        page_of("ESM"),
        "",
        [
            ("esm-live", "The ESM screen during a run"),
            ("esm-decision", "An opened decision"),
            ("esm-results", "Results"),
        ],
    ),
    (page_of("Evolution"), "", [("evolution", "An iteration")]),
    (page_of("GFlowNet"), "", [("gflownet", "The sampled paths of a question")]),
    (page_of("SLSM"), "", [("slsm", "A conversation beside its memory")]),
    (page_of("Pool"), "", [("pool", "The pool of a query and its trajectories")]),
    (page_of("Server"), "", []),
    (CompareScreen, "", [("compare", "Two runs compared"), ("compare-trace", "An item that parts")]),
    (SweepScreen, "", []),
    (NotesScreen, "", []),
    (Timeline, "# The time line\n\n", []),
    (LeaveScreen, "", []),
)
"""The classes whose HELP is a section, with a heading where HELP has none, and the pictures with their captions."""


def readme() -> str:
    """The text of screens/README.md."""
    sections = [
        _INTRODUCTION,
        "## Everywhere\n\n" + _table(_EVERYWHERE, common=True),
        "## Tables\n\n" + _table(_TABLES, common=True),
        "## Every screen of a run\n\n" + _table(_OF_A_RUN, common=True),
        "## What if\n\nThe keys of all screens that try another choice.\n\n"
        + _table(_own_bindings(WhatIfScreen))
        + HELP_OF_ALL,
        *(_section(*section) for section in _SECTIONS),
        "<!-- Made by `python -m tests.screens.readme` from the help texts; do not edit. -->\n",
    ]
    return "\n".join(sections)


def _section(screen: type[DOMNode] | MethodPage, heading: str, pictures: Sequence[tuple[str, str]]) -> str:
    timeline = [command.binding() for command in TIMELINE] if screen is Timeline else []
    bindings = timeline or _own_bindings(screen)
    bindings += [
        binding for pane in _PANES.get(screen, ()) for binding in _own_bindings(pane) if binding.show
    ]
    parts = ["#" + heading + _help(screen) if heading else "#" + _help(screen)]
    parts += [f"![{caption}](pictures/{name}.svg)\n" for name, caption in pictures]
    is_page = isinstance(screen, MethodPage)
    if is_page or not issubclass(screen, WhatIfScreen):
        parts.append(_table(bindings))
    if is_page and screen.what_if:
        parts.append("#" + screen.what_if.help)
    return "\n".join(parts)


_PANES: dict[type[DOMNode] | MethodPage, Sequence[type[DOMNode]]] = {
    page_of("ESM"): (CasesPane, DecisionsPane),
    page_of("Evolution"): (EvolutionScreen,),
    page_of("SLSM"): (ChatPane,),
    page_of("Pool"): (CasesPane,),
}
"""The tabs with keys of their own."""


def _help(owner: Any) -> str:
    text = owner.help if isinstance(owner, MethodPage) else _TEXTS.get(owner) or owner.HELP
    return f"{text.rstrip()}\n"


def _own_bindings(owner: Any) -> list[Binding]:
    """The bindings that a class declares itself; the digits of a tabbed screen's tabs with the tabs' names."""
    bindings = [binding for binding in getattr(owner, "BINDINGS", ()) if isinstance(binding, Binding)]
    if not (isinstance(owner, type) and issubclass(owner, TabbedScreen) and owner.TABS):
        return bindings
    tabs = f"The tabs: {', '.join(tab.label for tab in owner.TABS)}."
    digits = Binding("1", "tab", "Tabs", key_display=f"1 … {len(owner.TABS)}", tooltip=tabs)
    return [digits, *(binding for binding in bindings if not binding.action.startswith("tab("))]


def _rows(bindings: Iterable[Binding]) -> list[KeyRow]:
    return key_rows(
        (binding, list(dict.fromkeys(_keys(binding)))) for binding in bindings if "escape" not in binding.key
    )


def _common_rows() -> list[KeyRow]:
    return [row for table in (_EVERYWHERE, _TABLES, _OF_A_RUN) for row in _rows(table)]


def _repeats(row: KeyRow, known: KeyRow) -> bool:
    return set(row.keys) <= set(known.keys) and set(row.labels) <= set(known.labels)


def _table(bindings: Iterable[Binding], common: bool = False) -> str:
    rows = _rows(bindings)
    rows = [row for row in rows if common or not any(_repeats(row, known) for known in _common_rows())]
    return "\n".join(
        ["| key | label | what it does |", "|---|---|---|", *map(_row, rows), ""] if rows else []
    )


def _row(row: KeyRow) -> str:
    keys = " ".join(f"`{key}`" for key in row.shown_keys)
    return f"| {keys} | {row.label} | {row.help} |".replace("|  |", "| |")


def _keys(binding: Binding) -> Iterator[str]:
    for key in binding.key.split(","):
        yield _APP.get_key_display(replace(binding, key=key)).replace("⏎", "enter")


_EVERYWHERE = [command.binding() for command in EVERYWHERE]
_TABLES = _own_bindings(VirtualTable)
_OF_A_RUN = [command.binding() for command in (*RUN, *METHOD_KEYS, *NOTING, *COMMANDS)]
"""The keys that most screens have, and whose rows are not repeated."""
_APP = App[None]()


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
