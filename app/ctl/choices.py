"""What the options of `steer-tui ctl` can be. Light, for the command line."""

STATES = ("prepared", "running", "paused", "hung", "interrupted", "stopped", "failed", "finished")
"""Of runs."""

STAGE_CHOICES = ("again", "skip", "last", "stop")
STAGE_HELP = (
    "again: it and what rests on it are done anew when the run is resumed; skip: it and what needs it are left out; "
    "last: the run ends after it; stop: the run stops in it, and goes on there when it is resumed"
)
