"""The command line: console, batch, comparison, report, check, doctor."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from app import garbage
from engine.errors import DiskError, RunError, SteerError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
DEFAULT_CONFIG = Path("configs/demo.yaml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 done, 1 a stage failed, 2 bad input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode still gets its lines
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["ctl"]:
        from app.ctl.cli import run_ctl

        return run_ctl(given[1:])
    try:
        if given[:1] == ["export-vectors"]:
            from app.export_vectors import export_vectors

            return export_vectors(given[1:])
        if given[:1] == ["export-deltas"]:
            from app.export_deltas import export_deltas

            return export_deltas(given[1:])
        if given[:1] == ["check-class"]:
            from app.check_class import check_class

            return check_class(given[1:])
        if given[:1] == ["serve"]:
            from app.serve import run_serve

            return run_serve(given[1:])
        parser = make_parser()
        options = parser.parse_args(given)
        misuse = _misuse(options)
        if misuse:
            parser.error(misuse)
        return _run(options)
    except SteerError as error:
        _print_error(error)
        return FAILED if isinstance(error, DiskError) else BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


def make_parser() -> argparse.ArgumentParser:
    """The options; `_misuse` checks which of them fit together."""
    parser = argparse.ArgumentParser(
        prog="steer-tui",
        description="Watch, pause, resume and replay runs that steer language models.",
        epilog="Without --batch the console opens: on RUN if it is given, else on the list of runs. "
        "Further commands, each with --help: `steer-tui serve`: a server with a run's levers; `ctl` for scripts; "
        "`export-vectors`: ESM's vectors as files for llama.cpp, repeng and others; `export-deltas`: the evolution's "
        "deltas for servers; `check-class`: tries out a "
        "judge or reader of your own.",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    _add_run_options(parser)
    _add_console_options(parser)
    _add_batch_options(parser)
    _add_sweep_options(parser)
    _add_compare_options(parser)
    _add_report_options(parser)
    _add_doctor_options(parser)
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Which run, which configuration, where."""
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="a run to watch or replay: its folder, id or name; several of a name are listed; RUN@EVENT opens the item "
        "of an event, by its number in the log",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help=f"configuration (default: {DEFAULT_CONFIG})"
    )
    parser.add_argument(
        "--set",
        action="extend",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="change fields of the configuration; without --batch the dialog of a new run opens with them",
    )
    parser.add_argument(
        "--outputs", metavar="DIR", help="folder of the runs (default: the one in the configuration)"
    )


def _add_console_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fps",
        type=_fps,
        default=2.0,
        metavar="N",
        help="how often a second the console draws what goes on (default: 2; keys are answered at once)",
    )


def _add_batch_options(parser: argparse.ArgumentParser) -> None:
    batch = parser.add_argument_group("without a console")
    batch.add_argument("--batch", action="store_true", help="run the stages without a console")
    batch.add_argument("--stages", type=_names, metavar="A,B", help="with --batch: stages to run, in order")
    batch.add_argument("--resume", metavar="RUN", help="with --batch: resume a run that did not finish")
    batch.add_argument(
        "--detach",
        action="store_true",
        help="with --batch: start the worker, print the run's folder and return",
    )


def _add_sweep_options(parser: argparse.ArgumentParser) -> None:
    sweep = parser.add_argument_group("many settings")
    sweep.add_argument(
        "--sweep",
        nargs="*",
        metavar="SPEC",
        help="run many settings without a console: online.L=3,5,8 online.k_scale=0.5..4:4 run.seed=0..2; with "
        "--resume: go on with a sweep",
    )
    sweep.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="with --sweep: runs at a time (default: 1)"
    )
    sweep.add_argument(
        "--most", type=int, metavar="N", help="with --sweep: allow so many runs (default: at most 100)"
    )
    sweep.add_argument(
        "--choose-on",
        metavar="SPLIT",
        help="with --sweep: the split that ESM's settings are compared on (default: dev or validation, where the data "
        "set has one); the chosen setting then runs once on the configuration's own split",
    )


def _add_compare_options(parser: argparse.ArgumentParser) -> None:
    compare = parser.add_argument_group("two runs")
    compare.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="compare two runs: changed fields, each method's figures over the items that both have",
    )
    compare.add_argument("--json", action="store_true", help="with --compare: as JSON, with every item")


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    report = parser.add_argument_group("reports")
    report.add_argument(
        "--report",
        nargs="+",
        metavar="RUN",
        help="write a report: figures, plots, marked cases, how to repeat it; several runs are compared with the first",
    )
    forms = report.add_mutually_exclusive_group()
    for form, words in (("html", "one HTML file (the default)"), ("md", "Markdown")):
        forms.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, help=f"with --report: as {words}"
        )
    report.add_argument("--output", metavar="FILE", help="with --report: the file (default: standard output)")


def _add_doctor_options(parser: argparse.ArgumentParser) -> None:
    doctor = parser.add_argument_group("checks")
    doctor.add_argument(
        "--check",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="check configurations and what they need on this machine; nothing runs. Exit code 0: all are right, even "
        "if data, models or keys are not here yet; 2: something must be corrected",
    )
    doctor.add_argument(
        "--doctor", action="store_true", help="show what works on this machine and what is missing"
    )
    doctor.add_argument(
        "--server", metavar="URL", help="with --doctor: check an OpenAI-compatible server instead"
    )
    doctor.add_argument(
        "--model", metavar="NAME", help="with --server: the model to check (default: the first that it lists)"
    )
    doctor.add_argument(
        "--key-env",
        metavar="NAME",
        help="with --server: environment variable that holds the key (default: OPENAI_API_KEY)",
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError("expected names of stages, separated by commas")
    return names


def _fps(text: str) -> float:
    try:
        fps = float(text)
    except ValueError:
        fps = 0.0
    if not 0.1 <= fps <= 30:
        raise argparse.ArgumentTypeError("expected 0.1 to 30 drawings a second")
    return fps


def _misuse(options: argparse.Namespace) -> str:
    if options.batch and options.run:
        return f"--batch takes no RUN; to resume it: --batch --resume {options.run}"
    if options.sweep is not None:
        return _sweep_misuse(options)
    if options.jobs != 1 or options.most is not None or options.choose_on is not None:
        return "--jobs, --most and --choose-on need --sweep"
    if not options.batch and (options.stages or options.resume or options.detach):
        return "--stages, --resume and --detach need --batch"
    if options.set and options.run:
        return "RUN has its own configuration: it takes no --set"
    if options.set and (options.compare or options.report or options.doctor):
        return "--compare, --report and --doctor take no --set"
    if options.check is not None and (options.batch or options.run or options.config):
        return "--check takes files only: --check FILE..."
    if options.compare and (options.batch or options.run or options.config or options.check is not None):
        return "--compare takes two runs only: --compare A B"
    if options.report and (options.batch or options.run or options.config or options.compare):
        return "--report takes runs only: --report RUN..."
    if (options.form or options.output) and not options.report:
        return "--html, --md and --output need --report"
    if options.json and not options.compare:
        return "--json needs --compare"
    if options.resume and (options.config or options.set):
        return "a resumed run keeps its configuration: --resume takes neither --config nor --set"
    if options.run and options.config:
        return "RUN has its own configuration: give either RUN or --config"
    if options.server and not options.doctor:
        return "--server needs --doctor"
    if (options.model or options.key_env) and not options.server:
        return "--model and --key-env need --doctor --server"
    return ""


def _sweep_misuse(options: argparse.Namespace) -> str:
    others = (
        options.batch,
        options.run,
        options.check is not None,
        options.compare,
        options.report,
        options.doctor,
    )
    if any(others) or options.detach or options.json:
        return (
            "--sweep takes --config, --set, --stages, --outputs, --jobs, --most, --choose-on or --resume only"
        )
    if options.resume and (options.sweep or options.config or options.set or options.stages):
        return "a resumed sweep keeps its settings: --sweep --resume SWEEP"
    if not options.resume and not options.sweep:
        return "--sweep needs what is swept, such as online.L=3,5,8, or --resume SWEEP"
    return "" if options.jobs >= 1 else "--jobs: 1 or more"


def _run(options: argparse.Namespace) -> int:
    if options.version:
        return _version()
    if options.check is not None:
        from app.doctor.check import run_check

        return run_check(options.check or [default_config()], options.set)
    if options.compare:
        return _compare(options)
    if options.report:
        from app.report.run_report_command import write_report

        outputs = Path(options.outputs or "outputs")
        return write_report(options.report, outputs, options.form or "html", options.output)
    if options.sweep is not None:
        from app.sweep.run_sweep import sweep_command

        return sweep_command(options, options.config or default_config())
    if options.doctor and options.server:
        from app.doctor.server import run_server_doctor

        return run_server_doctor(options.server, options.model, options.key_env or "OPENAI_API_KEY")
    if options.doctor:
        from app.doctor.machine import run_doctor

        return run_doctor(Path(options.outputs or "outputs"))
    return _batch(options) if options.batch else _console(options)


def _compare(options: argparse.Namespace) -> int:
    from app.choose_run import choose_run
    from app.compare.run_compare import run_compare
    from app.text_console import make_console

    outputs = Path(options.outputs or "outputs")
    first, second = (choose_run(run, outputs).path for run in options.compare)
    return run_compare(first, second, options.json, make_console())


def _batch(options: argparse.Namespace) -> int:
    from app.batch.run_batch import run_batch
    from app.choose_run import choose_run
    from app.runs.client import prepare_resume, prepare_run
    from app.text_console import make_console

    if options.resume:
        directory = choose_run(options.resume, Path(options.outputs or "outputs"))
        prepare_resume(directory, options.stages)
    else:
        config = options.config or default_config()
        directory = prepare_run(config, options.set, options.stages, options.outputs)
    if options.detach:
        from app.batch.detach import start_detached

        return start_detached(directory)
    return run_batch(directory, make_console(), make_console(stderr=True))


def _console(options: argparse.Namespace) -> int:
    from engine.run.directory import find_runs
    from engine.run.event_log import refuse_later

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunError(
            what="the console needs a terminal",
            where="standard input or output is not a terminal",
            mend="run without a console: steer-tui --batch",
        )
    if os.environ.get("TERM") == "dumb":
        raise RunError(
            what="the console needs a terminal that can place text",
            where="TERM is dumb",
            mend="set TERM to what your terminal is, or run without a console: steer-tui --batch",
        )
    outputs = Path(options.outputs) if options.outputs else None
    run, event = _at_event(options.run or "")
    found = find_runs(run, outputs or Path("outputs")) if run else []
    if len(found) == 1:
        refuse_later(found[0])
    if event is not None:
        from screens.event_places import event_place

        if len(found) > 1:
            raise RunError(
                what=f"{len(found)} runs have this name, and an event belongs to one run",
                where=f"{run}@{event}",
                mend=f"name the run's folder, such as {found[0].path}@{event}",
            )
        event_place(found[0].path, event)
    with garbage.put_off():
        from app.shell import run_console

        if len(found) > 1:  # which of them is meant is for the user to say
            place = found[0].path.parent.parent
            return run_console(outputs=place, choose_from=[run.path for run in found], fps=options.fps)
        config = options.config or (default_config() if options.set else None)
        path = found[0].path if found else None
        return run_console(config, path, outputs, fps=options.fps, event=event, changes=options.set)


def _at_event(text: str) -> tuple[str, int | None]:
    """`outputs/demo/x@4711`: the run, and the number of an event in its log."""
    run, at, number = text.rpartition("@")
    if at and run and number.isascii() and number.isdigit() and not Path(text).exists():
        return run, int(number[:18])
    return text, None


def default_config() -> Path:
    """`configs/demo.yaml` below the working directory, else the one that was installed."""
    installed = Path(__file__).resolve().parent.parent / DEFAULT_CONFIG
    return DEFAULT_CONFIG if DEFAULT_CONFIG.exists() or not installed.exists() else installed


def _version() -> int:
    from engine.versions import package_version

    sys.stdout.write(f"steer-tui {package_version('steer-tui') or 'not installed'}\n")
    return 0


def _print_error(error: SteerError) -> None:
    from rich.text import Text

    from app.text import error_lines
    from app.text_console import make_console

    for line in error_lines(error):
        make_console(stderr=True).print(Text(line, style="red"), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
