"""The first screen: what every run reached; to start, watch, pause, stop and resume them, and to keep them in order."""

from __future__ import annotations

from app.keys.commands import RUNS, bindings
from screens.runs.commands import RunCommands


class RunsScreen(RunCommands):
    """The list of runs with its keys."""

    BINDINGS = bindings(RUNS)
    HELP = """\
# Runs

All runs in the folder `outputs/`, newest first. *result* is the figure of the run's first method, *change* how far that
is from its baseline on the same items: ▲ better, ▼ worse, ≈ no difference is shown (the interval includes zero).
*curve* shows how the result moved over the items, or over training; its scale has room for the baseline, too.
*methods* has the same sign behind each method. *changed fields* are those that were set over the configuration file.
A run is called by what differs among the runs of its experiment that are listed, `online.L=3 seed=1`.
Below the list every method of the run under the cursor has its line of the overview: `greedy 63.5% → 96.5% ▲ +33.0 [27,
39]` goes from the baseline to the method.

`enter` opens a run: a running one is followed live, a finished one is replayed. Runs continue after the console is
closed. Nothing is ever deleted here: `del` moves a run to `.trash` in the outputs folder.

The runs of a sweep stand under its heading ▸: `enter` shows the sweep, `space` lists its runs, `o` on one of them shows
the sweep again. ★ is the best result under a heading, of the runs that can be compared: of one method, on one split.
Where the chosen setting ran on the split to report, that result stands there, without ★.

`/` lists the runs that match: plain words are looked for in name, state and configuration; `gain>0`, `state:failed`,
`config~gsm8k` and `change~online.L` look into a field. The fields are name, state, method, change, config, id, result,
gain, seconds and cost. `escape` removes the filter.
"""
