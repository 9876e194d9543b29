"""`steer-tui sweep`: the same process as in the console works on the sweep; what its runs do is printed as lines."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress

from rich.console import Console
from rich.text import Text

from app.batch.run_batch import Interrupts
from app.blocks.printed import print_blocks
from app.runs.run_names import setting_words
from app.runs.sweeps import start_queue, stop_queue
from app.sweep.summary import summary
from app.swept.progress import progress_of
from app.swept.words import counts_words, left_words, progress_words, sweep_resume_command, work_words
from engine.errors import SteerError
from engine.regular_file import last_line
from engine.run.directory import RunStatus
from engine.sweep.results import SweepReader, SweepResults
from engine.sweep.sweep import Point, SweepFolder

FINISHED, FAILED, INTERRUPTED = 0, 1, 130
_POLL_SECONDS = 0.5
_REPORT_EVERY = 10.0


def run_sweep(folder: SweepFolder, console: Console, errors: Console) -> int:
    """Work on a prepared or unfinished sweep until it ends; returns the exit code."""
    interrupts = Interrupts()
    with interrupts.handled():
        process = start_queue(folder.path)
        teller = _ProgressReporter(folder, console)
        console.print(Text(f"sweep: {folder.path}"), soft_wrap=True)
        try:
            code = _follow(folder, process, teller, interrupts)
        except KeyboardInterrupt:
            code = INTERRUPTED
            errors.print(Text("left; the runs at work stop after their current item"), soft_wrap=True)
        except BaseException:  # a closed pipe, a bug: leave nothing behind
            stop_queue(folder.path)
            raise
    results = SweepReader(folder).read()
    print_blocks(summary(results), console, ["setting"])
    if code != FINISHED:
        _explain(folder, results, errors)
        line = f"kept in {folder.path}; to resume: {sweep_resume_command(folder.path)}"
        errors.print(Text(line), soft_wrap=True)
    return code


def _follow(
    folder: SweepFolder, process: subprocess.Popen[bytes], teller: _ProgressReporter, interrupts: Interrupts
) -> int:
    asked = False
    while True:
        code = process.poll()
        teller.report()
        if code is not None:
            return code if code in (FINISHED, INTERRUPTED) else FAILED
        if interrupts.count and not asked:
            asked = stop_queue(folder.path)
            teller.line("asking the runs to stop; what is finished is kept (Ctrl+C again leaves at once)")
            if not asked:
                process.terminate()  # no lock yet: nothing has started
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)


class _ProgressReporter:
    """Prints what has changed in the runs since it last looked."""

    def __init__(self, folder: SweepFolder, console: Console) -> None:
        self._folder, self._console = folder, console
        self._reader = SweepReader(folder)
        self._reported: dict[str, str] = {}
        self._at = 0.0

    def report(self) -> None:
        """Look again."""
        try:
            results = self._reader.read()
        except SteerError as error:
            self.line(str(error))
            return
        for point in results.record.all_points:
            status = results.runs.get(point.run_id)
            if status is not None and (words := _run_words(status)) != self._reported.get(point.run_id):
                self._reported[point.run_id] = words
                self.line(f"{_number(point, results)} {setting_words(point.setting)}: {words}")
        if time.monotonic() - self._at > _REPORT_EVERY:
            self._at = time.monotonic()
            self._report_progress(results)

    def _report_progress(self, results: SweepResults) -> None:
        progress = progress_of(results)
        for words in work_words(results, progress):
            self.line(f"{words}; {progress_words(results)}, {left_words(progress)}")

    def line(self, text: str) -> None:
        """Print with the time of day."""
        self._console.print(Text(f"{time.strftime('%H:%M:%S')} {text}"), soft_wrap=True)


def _number(point: Point, results: SweepResults) -> str:
    return "report" if point == results.record.report else f"{point.number}/{len(results.record.points)}"


def _run_words(status: RunStatus) -> str:
    """Its state, its finished stages, and which of them were taken over."""
    done = [name for name, stage in status.record.stages.items() if stage.status == "finished"]
    shared = [name for name in done if status.record.stages[name].shared_from]
    words = [status.state]
    if shared:
        words.append(f"taken over {', '.join(shared)}")
    if done_here := [name for name in done if name not in shared]:
        words.append(f"done {', '.join(done_here)}")
    return "; ".join(words)


def _explain(folder: SweepFolder, results: SweepResults, errors: Console) -> None:
    """Why runs failed, each reason once; else the queue's own last words."""
    reasons: dict[str, int] = {}
    for status in results.runs.values():
        if status.state == "failed" and status.failure:
            reasons[status.failure] = reasons.get(status.failure, 0) + 1
    for reason, count in reasons.items():
        errors.print(Text(f"failed runs: {count}; {reason}", style="red"), soft_wrap=True)
    if not reasons and not counts_words(results):
        errors.print(Text(last_line(folder.log), style="red"), soft_wrap=True)
