"""Every command of the console: its key, its label in the footer, its sentence in help and palette.

A screen binds some of them with `bindings(...)`; the footer, the help screen, the command palette and
screens/README.md read the bindings, so a command is described only here. Widgets bind their own commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen


@dataclass(frozen=True)
class Command:
    """`key`: as Textual names it, "" for a command that only palette and help have; `action`: the method `action_…`;
    `label`: in the footer; `help`: a sentence.

    Commands that are not shown in the footer are still in the help and in the palette.
    """

    key: str
    action: str
    label: str
    help: str
    shown: bool = True
    display: str | None = None
    priority: bool = False

    def binding(self) -> Binding:
        """The command as Textual binds it."""
        return Binding(
            self.key,
            self.action,
            self.label,
            show=self.shown,
            key_display=self.display,
            priority=self.priority,
            tooltip=self.help,
        )


def commands_without_key(screen: Screen[Any]) -> list[tuple[Command, DOMNode]]:
    """What `PALETTE` of the screen and of the console names, no key does and can be done now, each with who does it."""
    nodes: tuple[DOMNode, ...] = (screen, screen.app)
    bound = {active.binding.action for active in screen.active_bindings.values()}
    return [
        (command, node)
        for node in nodes
        for command in getattr(node, "PALETTE", ())
        if command.action not in bound and node.check_action(command.action.removeprefix("app."), ())
    ]


ALWAYS_SHOWN = frozenset(
    {"stopping", "app.leave", "app.explain", "seek_live", "back", "close", "pane_back", "app.up"}
)
SHOWN_FIRST = frozenset(
    {
        "select", "beside", "filter", "search", "freeze", "thaw", "pause", "continue_engine", "start", "resume", "stop",
        "differ", "app.new_run", "show_error", "follow_work", "leave_work", "undo", "what_if", "step",
    }
)  # fmt: skip
SHOWN_LAST = frozenset(
    {
        "app.find", "follow", "sort", "trash", "note", "notes", "mark_item", "export_item", "replay", "step_event",
        "stop_at", "levers",
    }
)  # fmt: skip
_RANKS = (ALWAYS_SHOWN, SHOWN_FIRST, frozenset[str](), SHOWN_LAST)


def rank(action: str) -> int:
    """How soon the footer drops a command where it is short of room: 0 never, then 3 first and 1 last."""
    name = action.partition("(")[0]
    return next((rank for rank, actions in enumerate(_RANKS) if name in actions), 2)


def bindings(*tables: tuple[Command, ...]) -> list[BindingType]:
    """Tables of commands as bindings."""
    return [command.binding() for table in tables for command in table]


EVERYWHERE: tuple[Command, ...] = (
    Command("x", "app.picture", "SVG", "Write the screen to an SVG file."),
    Command("question_mark", "app.explain", "Help", "Explain this screen and all its keys; while typing, f1 does."),
    Command("f1", "app.explain", "Help", "Explain this screen and all its keys; while typing, f1 does.", shown=False),
    Command("slash", "app.find", "Find",
            "Find a row of the table by its words, or filter it; where there is no table, find rows of all methods.",
            shown=False),
    Command("ctrl+p", "app.command_palette", "Commands", "Find any command by its name.", shown=False),
    Command("q", "app.leave", "Quit", "Quit; asks first whether runs at work shall stop or go on."),
    Command("ctrl+c", "app.interrupt", "Stop and quit",
            "Stop the engine, wait for it (5 s at most) and quit; finished work is kept. Twice: quit at once. "
            "Asks first where the run was started elsewhere.", shown=False, display="^c", priority=True),
)  # fmt: skip

WITHOUT_KEY = (Command("", "app.toggle_dark", "Dark/light", "Switch between the dark and the light theme."),)
"""Commands of everywhere that only the palette has."""

NEW = Command(
    "plus", "app.new_run", "New run", "Start a run, or a sweep over many settings, from a configuration."
)

ERROR = Command("E", "show_error", "Error", "Show what went wrong.")

RUNS = (
    NEW,
    Command("space", "fold", "Unfold", "Show the runs of this sweep, or hide them again."),
    Command("o", "open_sweep", "Sweep", "Show the sweep that this run belongs to."),
    Command("r", "resume_run", "Resume", "Start a worker again on a run that stopped, was interrupted or failed."),
    Command("p", "order('pause')", "Pause", "Pause the engine of this run after its current item."),
    Command("p", "order('continue')", "Continue", "End the pause of this run's engine."),
    Command("S", "order('stop')", "Stop", "Stop the engine of this run after its current item; finished work is kept."),
    ERROR,
    Command("slash", "filter", "Filter", "List only the runs that match what you type."),
    Command("escape", "back", "All runs", "Remove the filter."),
    Command("m", "mark", "Mark", "Mark this run, or take its mark away; then the row below."),
    Command("c", "compare", "Compare",
            "Compare the two marked runs; if one is marked, that one and the run under the cursor."),
    Command("semicolon", "note", "Note", "Write a note on this run, beside its log."),
    Command("M", "notes", "Notes", "List the marks and notes of all listed runs."),
    Command("delete", "trash", "Trash",
            "Move this run to the folder .trash of the outputs folder; no worker may be at work on it."),
    Command("u", "undo", "Undo", "Bring back the run that was moved to the trash last."),
)  # fmt: skip

SWEEP = (
    Command("c", "compare_best", "Compare", "Compare this setting's run with the best setting's."),
    Command("r", "resume_sweep", "Resume", "Go on with the sweep."),
    Command("S", "stop_sweep", "Stop", "Stop the sweep: its runs stop after their current item."),
    Command("escape", "back", "Back", "Close the sweep; it goes on."),
)

RESUME = Command(
    "r", "resume", "Resume", "Start a worker again on this run; it continues where the last one stopped."
)

STOP = Command("S", "stop", "Stop", "Stop the engine after its current item; finished work is kept.")

RUN = (
    Command("space", "freeze", "Freeze", "Freeze the view; the engine continues."),
    Command("space", "thaw", "Unfreeze", "Follow the run again."),
    Command("p", "pause", "Pause", "Pause the engine after its current item."),
    Command("p", "continue_engine", "Continue", "End the pause of the engine."),
    RESUME,
    Command("r", "start", "Start", "Start a worker on this run."),
    STOP,
    Command("S", "stopping", "Stopping", "A stop was asked for: the engine stops after its current item."),
    Command("o", "overview", "Overview", "Back to the overview of the run."),
    Command("F", "follow_work", "Follow work", "Always show the method at work, until you go elsewhere."),
    Command("F", "leave_work", "Stay here", "Stop following the work."),
    Command("ctrl+d", "app.detach", "Detach", "Back to the list of runs; the engine continues."),
    Command("W", "levers", "Levers", "Ask a question of the run's model with each lever on or off."),
)

REPORT = Command("R", "write_report", "Report", "Write the report on this run as HTML and as Markdown.")

RUN_WITHOUT_KEY = (
    Command("", "write_report", REPORT.label, REPORT.help),
    Command("", "show_error", "Error", ERROR.help),
)  # fmt: skip
"""Commands of a run's screens that only the palette has: the header leads there where there is something to see."""

NOTING = (
    Command("m", "mark_item", "Mark", "Mark the row under the cursor, or take its mark away."),
    Command("semicolon", "note", "Note", "Write a note on the row, or on the run, beside its log."),
    Command("M", "notes", "Notes", "List the marks and notes of this run."),
    Command("Y", "export_item", "Export", "Write the row under the cursor as Markdown and as one HTML file."),
)

_ALT_DIGITS = (
    "inverted_exclamation_mark", "trade_mark_sign", "pound_sign", "cent_sign", "infinity", "section_sign",
    "pilcrow_sign", "bullet", "ª",
)  # fmt: skip
"""What option and a digit write on a Mac."""

METHOD_KEYS = tuple(
    Command(f"alt+{number},{sign}", f"method({number})", "Method", "Show the run's method of this number.", shown=False,
            display="alt+1 … 9" if number == 1 else f"alt+{number}")
    for number, sign in enumerate(_ALT_DIGITS, 1)
)  # fmt: skip

TIMELINE = (
    Command("left_square_bracket", "step_event(-1)", "Time line",
            "One event back or forward; shows the time line.", display="[ ]"),
    Command("right_square_bracket", "step_event(1)", "Next event", "One event forward.", shown=False),
    Command("left_curly_bracket", "stop_at(-1)", "Decision",
            "To the previous or next decision, example or stage.", display="{ }"),
    Command("right_curly_bracket", "stop_at(1)", "Next decision",
            "To the next decision, example or stage.", shown=False),
    Command("comma", "replay", "Replay", "Replay the log from here at its original speed; press again to halt."),
    Command("full_stop", "speed", "Faster", "Replay at 1, 4, 16 or 64 times the original speed.", shown=False),
    Command("0", "seek_start", "To the start", "To the first event.", shown=False),
    Command("L", "seek_live", "Live", "To the end of the log; follow it from there."),
)  # fmt: skip

NOTES_LIST = (
    Command("delete", "take_back", "Take back", "Take the note or the mark under the cursor back."),
    Command("escape", "close", "Close", "Back to where you came from."),
)

PANEL = (Command("y", "copy", "Copy", "Copy the text."),)

STAGES = (
    Command("up,k", "move(-1)", "Choose", "Choose a stage.", display="↑↓", priority=True),
    Command("down,j", "move(1)", "Below", "The stage below.", shown=False, priority=True),
    Command("b", "choose('again')", "Begin again", "Do this stage anew, and those that rest on it; asks first."),
    Command("minus", "choose('skip')", "Skip", "Leave this stage out, and those that need it; or take that back."),
    Command("Z", "choose('last')", "Last one", "End the run after this stage; or take that back."),
    STOP,
    Command("escape,i,q", "close", "Close", "Close the panel.", display="esc"),
)  # fmt: skip

DIALOG = (Command("escape", "close", "Close", "Close the panel."),)

SEARCH = (
    Command("enter", "accept", "Go there", "Go to the row.", priority=True),
    Command("up", "move(-1)", "Choose", "Choose a row.", display="↑↓", priority=True),
    Command("down", "move(1)", "Below", "The row below.", shown=False, priority=True),
    Command("pageup", "move(-10)", "Ten above", "Ten rows up.", shown=False, priority=True),
    Command("pagedown", "move(10)", "Ten below", "Ten rows down.", shown=False, priority=True),
    *DIALOG,
)

GO_BACK = Command("backspace", "go_back", "Came from", "Come back from where enter on an id led.")

ENLARGE = Command(
    "z", "enlarge", "Chart", "Show the tab's charts on the whole screen; again: back to the tab."
)

NEW_RUN = (
    Command("enter", "start", "Start", "Start a run from this configuration.", priority=True),
    Command("up", "choose(-1)", "Choose", "Choose a configuration.", display="↑↓", priority=True),
    Command("down", "choose(1)", "Next", "Choose the next configuration.", shown=False, priority=True),
    Command("pagedown", "page(1)", "More", "Scroll the description of the configuration.", priority=True),
    Command("pageup", "page(-1)", "Less", "Scroll the description of the configuration.", shown=False, priority=True),
    Command("ctrl+o", "form", "All fields", "Show all fields with their help, and change them there.", priority=True),
    Command("f1", "app.explain", "Help", "Explain this dialog and its keys."),
    Command("escape", "close", "Cancel", "Close without starting a run."),
)  # fmt: skip

COMPARE = (
    Command("1", "open_run(0)", "Open A", "Open run A at this item."),
    Command("2", "open_run(1)", "Open B", "Open run B at this item."),
    Command("v", "next_kind", "Kind",
            "Show the next kind of items: all, right in A only, in B only, in both, in none."),
    Command("left", "step(-1)", "Previous", "In an opened item: the previous item.", shown=False),
    Command("right", "step(1)", "Items", "In an opened item: the previous or the next one.", display="←→"),
    Command("space", "all_steps", "All steps", "Show all steps of the item, or those from the first difference on."),
    Command("escape", "back", "Back", "Close what is open."),
)  # fmt: skip

START_FORM = (
    Command("slash", "search", "Search", "Show only fields whose name or help has these words."),
    Command("space", "next_choice", "Next", "Tick a stage, or take the field's next choice."),
    Command("delete", "reset", "As in file", "Take the change of the field back."),
    Command("escape", "close", "Done", "Back to the dialog, with these changes."),
)

WHAT_IF = (
    Command("enter", "start", "Try", "Try what the fields say.", priority=True),
    Command("f2", "sweep", "Sweep", "Try nine strengths, from none to three times that of the field.", display="F2"),
    Command("pagedown", "scroll(1)", "More", "Scroll the answers.", priority=True),
    Command("pageup", "scroll(-1)", "Less", "Scroll the answers.", shown=False, priority=True),
    Command("escape", "close", "Back", "Back to what was recorded."),
)  # fmt: skip

LEAVE = (
    Command(
        "ctrl+d", "dismiss('detach')", "Detach",
        "Quit; the engine continues, and you can open the run again later.",
    ),
    Command(
        "S", "dismiss('stop')", "Stop and keep",
        "Stop the engine after its current item, then quit; finished work is kept.",
    ),
    Command("escape", "dismiss('stay')", "Stay", "Do not quit."),
)  # fmt: skip
