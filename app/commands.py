"""Every command of the console, once: its key, its word in the footer, its sentence in help and palette.

A screen takes its part with `bindings(...)`; the footer, the help screen and the command palette read what is
bound, so a command is never described in two places. Widgets bind what only they can do themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True)
class Command:
    """`key`: as Textual names it; `action`: the method `action_…`; `label`: in the footer; `help`: a sentence.

    Commands that are not shown in the footer are in the help and in the palette all the same.
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


RANKS = {
    "select": 1,
    "filter": 1,
    "freeze": 1,
    "thaw": 1,
    "pause": 1,
    "unpause": 1,
    "start": 1,
    "stop": 1,
    "detach": 1,
    "new_run": 1,
    "show_error": 1,
    "app.leave": 0,
    "app.explain": 0,
    "follow": 3,
    "sort": 3,
    "replay": 3,
    "seek_live": 3,
}
"""Which words go last when the footer is short of room: 0 never, then 1, 2 (all others), 3."""


def rank(action: str) -> int:
    """How much the footer needs a command."""
    return RANKS.get(action.partition("(")[0], 2)


def bindings(*tables: tuple[Command, ...]) -> list[BindingType]:
    """Tables of commands as bindings."""
    return [command.binding() for table in tables for command in table]


EVERYWHERE: tuple[Command, ...] = (
    Command("x", "app.picture", "SVG", "Write what is on the screen as an SVG file."),
    Command(
        "question_mark",
        "app.explain",
        "Help",
        "What this screen shows, and what every key does here.",
        display="?",
    ),
    Command(
        "ctrl+p",
        "app.command_palette",
        "Commands",
        "Find any command by its name.",
        shown=False,
        display="^p",
    ),
    Command(
        "ctrl+t", "app.toggle_dark", "Dark/light", "Change between the dark and the light theme.", shown=False
    ),
    Command("ctrl+y", "app.change_theme", "Theme", "Choose a theme.", shown=False),
    Command("ctrl+q", "app.leave", "Quit", "The same as q, also while typing.", shown=False, priority=True),
    Command("ctrl+g", "app.show_lag", "Lag", "Say how far the console is behind the log.", shown=False),
    Command(
        "q", "app.leave", "Quit", "Leave; a run that is at work can be left running, or stopped and kept."
    ),
    Command(
        "ctrl+c",
        "app.interrupt",
        "Stop and quit",
        "Ask the engine to keep what it has, wait for its word (5 s at most) and leave; twice leaves at once.",
        shown=False,
        display="^c",
        priority=True,
    ),
)

RUNS = (
    Command("n", "new_run", "New run", "Start a run from a configuration."),
    Command("r", "resume_run", "Resume", "Take up a run again that was stopped, interrupted or failed."),
    Command("p", "pause_run", "Pause", "Let the engine of this run wait after the item it is at."),
    Command("p", "unpause_run", "Go on", "Let the paused engine of this run go on."),
    Command("S", "stop_run", "Stop", "Let the engine of this run keep what it has and stop."),
    Command("E", "show_error", "Error", "Read why this run failed."),
)

RUN = (
    Command(
        "space", "freeze", "Freeze", "Let the view stand still while the engine goes on.", display="space"
    ),
    Command("space", "thaw", "Unfreeze", "Go with the run again.", display="space"),
    Command("p", "pause", "Pause", "Let the engine wait after the item it is at."),
    Command("p", "unpause", "Go on", "Let the paused engine go on."),
    Command("r", "start", "Resume", "Take the run up again from where its engine left it."),
    Command("S", "stop", "Stop", "Let the engine keep what it has and stop."),
    Command("v", "next_system", "View", "The screen of the run's next system: ESM, Evolution."),
    Command("ctrl+d", "detach", "Detach", "Back to the list of runs; the engine goes on.", display="^d"),
    Command("E", "show_error", "Error", "Read what went wrong."),
    Command("R", "show_replicas", "Replicas", "Who does the work, how fast, and where Ray's dashboard is."),
)

TIMELINE = (
    Command("left_square_bracket", "step(-1)", "Previous event", "One event back.", shown=False, display="["),
    Command("right_square_bracket", "step(1)", "Next event", "One event on.", shown=False, display="]"),
    Command(
        "left_curly_bracket",
        "stop_at(-1)",
        "Previous decision",
        "To the decision, example or stage before.",
        False,
        "{",
    ),
    Command(
        "right_curly_bracket",
        "stop_at(1)",
        "Next decision",
        "To the next decision, example or stage.",
        False,
        "}",
    ),
    Command(
        "comma",
        "replay",
        "Replay",
        "Play the log from here at its own pace; again: halt.",
        display=",",
    ),
    Command("full_stop", "speed", "Faster", "Replay 1, 4, 16, 64 times as fast as it was.", False, "."),
    Command("0", "seek_start", "To the start", "To the first event.", shown=False),
    Command("L", "seek_live", "Live", "To the end of the log, and on with it."),
)

PANEL = (Command("y", "copy", "Copy", "Copy it all."),)

DIALOG = (Command("escape", "close", "Close", "Close this.", display="esc"),)

NEW_RUN = (
    Command(
        "enter", "start", "Start", "Start a run from this configuration.", display="enter", priority=True
    ),
    Command("up", "choose(-1)", "Other", "Take the configuration above.", display="↑↓", priority=True),
    Command("down", "choose(1)", "Next", "Take the configuration below.", shown=False, priority=True),
    Command("pagedown", "page(1)", "More", "Scroll what is said about the configuration.", display="pgdn"),
    Command("pageup", "page(-1)", "Back", "Scroll what is said about the configuration.", shown=False),
    Command(
        "ctrl+k",
        "menuconfig",
        "Kconfig",
        "Edit the .config that this configuration names (evolution.kconfig) in a menu.",
        display="^k",
        priority=True,
    ),
    Command("escape", "close", "Cancel", "Start nothing.", display="esc"),
)

SAMPLE_AGAIN = (
    Command("enter", "start", "Sample", "Sample with what stands there.", display="enter", priority=True),
    Command("escape", "close", "Cancel", "Sample nothing.", display="esc"),
)

LEAVE = (
    Command("d", "detach", "Detach", "Leave; the engine goes on, and can be watched again later."),
    Command("s", "stop", "Stop and keep", "Let the engine keep what it has and stop, then leave."),
    Command("escape", "stay", "Stay", "Do not leave.", display="esc"),
)
