"""What the commands hand on to the parts of the program that do the work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.cli.options import default_config
from app.shell import First
from engine.errors import RunError
from engine.run.directory import RunDirectory
from tests.kill_and_resume import DEMO

INSTALLED = Path(__file__).parents[3] / "configs" / "demo.yaml"


class Calls:
    """Stands in for functions; keeps what they were called with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.made: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def instead_of(self, name: str, result: object = 0) -> None:
        def call(*given: Any, **named: Any) -> object:
            self.made.append((given, named))
            return result

        self._monkeypatch.setattr(name, call)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")


# ---------------------------------------------------------------- the console


def test_the_console_opens_the_list_a_dialog_or_a_run(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch)
    calls.instead_of("app.shell.run_console")
    calls.instead_of("screens.event_places.event_place")
    monkeypatch.setattr("engine.run.directory.find_runs", lambda run, outputs: [RunDirectory(tmp_path / run)])
    monkeypatch.setattr(RunDirectory, "read", lambda run: None)
    monkeypatch.chdir(tmp_path)
    main(["--outputs", "o"])
    main(["--config", "c.yaml", "--set", "a=1"])
    main(["--set", "a=1", "b=2"])
    main(["some-run"])
    main(["some-run@x@17"])
    lists, config, changed, run, place, event = calls.made
    assert lists == ((Path("o"), First(changes=[])), {})
    assert config == ((None, First(config=Path("c.yaml"), changes=["a=1"])), {})
    assert changed == ((None, First(config=INSTALLED, changes=["a=1", "b=2"])), {})
    assert run == ((None, First(tmp_path / "some-run", changes=[])), {})
    assert place == ((tmp_path / "some-run@x", 17), {})
    assert event == ((None, First(tmp_path / "some-run@x", 17, changes=[])), {})


def test_a_run_that_cannot_be_opened_is_refused_before_the_screen_is_taken(
    calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch)
    calls.instead_of("app.shell.run_console")
    found = [RunDirectory(tmp_path / "b")]

    def refuse(run: RunDirectory) -> None:
        raise RunError(what=f"later: {run.path.name}")

    monkeypatch.setattr("engine.run.directory.find_runs", lambda run, outputs: found)
    monkeypatch.setattr(RunDirectory, "read", refuse)
    assert main(["b"]) == 2
    assert capsys.readouterr().err == "later: b\n"
    found.append(RunDirectory(tmp_path / "c"))
    assert main(["name@3"]) == 2
    assert capsys.readouterr().err == (
        f"2 runs have this name, and an event belongs to one run (name@3): name the run's folder, such as "
        f"{tmp_path}/b@3\n"
    )
    assert not calls.made and main(["name"]) == 0
    [((outputs, first), _)] = calls.made
    assert first == First(choose_from=[tmp_path / "b", tmp_path / "c"])
    assert outputs == tmp_path.parent, "of OUTPUTS/EXPERIMENT/RUN"


def test_keys_that_are_not_typed_move_nothing(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in `echo | steer-tui`, whose output is a terminal."""
    on_terminal(monkeypatch)
    calls.instead_of("app.shell.run_console")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    assert main([]) == 2
    assert capsys.readouterr().err == (
        "the console needs a terminal (standard input or output is not a terminal): "
        "run without a console: steer-tui batch\n"
    )


def test_a_terminal_that_cannot_place_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    assert main([]) == 2
    assert "TERM is dumb" in capsys.readouterr().err


def test_the_demo_below_the_working_folder_goes_before_the_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_config() == INSTALLED and DEMO.resolve() == INSTALLED
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "demo.yaml").touch()
    assert default_config() == Path("configs/demo.yaml")


# ---------------------------------------------------------------- runs and sweeps


def test_a_new_run_and_a_resumed_one(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(Path("r"))
    calls.instead_of("app.runs.client.prepare_run", run)
    calls.instead_of("app.runs.client.prepare_resume")
    monkeypatch.setattr("app.choose_run.choose_run", lambda text, outputs: RunDirectory(outputs / text))
    calls.instead_of("app.batch.run_batch.run_batch")
    main(["batch", "--config", "c.yaml", "--set", "a=1", "--stages", "mine,eval", "--outputs", "o"])
    main(["batch", "--resume", "x", "--stages", "eval"])
    prepared, worked, resumed, again = calls.made
    assert prepared == ((Path("c.yaml"), ["a=1", 'run.stages=["mine", "eval"]'], "o"), {})
    assert worked[0][0] is run and [console.stderr for console in worked[0][1:]] == [False, True]
    assert resumed[0][0].path == again[0][0].path == Path("outputs/x") and resumed[0][1] == ["eval"]
    main(["batch", "--resume", "x", "--outputs", "o"])
    assert calls.made[-1][0][0].path == Path("o/x"), "it is looked for where --outputs says"


def test_a_new_sweep_and_a_resumed_one(calls: Calls) -> None:
    calls.instead_of("engine.sweep.prepare.prepare_sweep", "new")
    calls.instead_of("engine.sweep.sweep.find_sweep", "old")
    calls.instead_of("app.sweep.run_sweep.run_sweep")
    options = ["--config", "c.yaml", "--set", "a=1", "--stages", "eval", "--outputs", "o", "--jobs", "3"]
    main(["sweep", "run.seed=1..200", *options, "--most", "200", "--choose-on", "dev"])
    main(["sweep", "--resume", "x", "--outputs", "o"])
    (given, named), worked, found, again = calls.made
    assert given[:2] == (Path("c.yaml"), ["run.seed=1..200"]) and len(given[2][0].values) == 200
    assert given[3] == ["a=1", 'run.stages=["eval"]', 'run.outputs="o"']
    assert named == {"jobs": 3, "choose_on": "dev"}
    assert (worked[0][0], again[0][0]) == ("new", "old") and found == (("x", Path("o")), {})
    assert [console.stderr for console in worked[0][1:]] == [False, True]


def test_no_run_at_all_is_fewer_than_any_sweep_has(calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("engine.sweep.prepare.prepare_sweep", "app.sweep.run_sweep.run_sweep"):
        calls.instead_of(name)
    assert main(["sweep", "run.seed=1,2", "--most", "0"]) == 2
    assert "at most 0, or --most 2 if this is meant" in capsys.readouterr().err


def test_more_than_a_hundred_runs_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "run.seed=1..101"]) == 2
    assert "at most 100, or --most 101 if this is meant" in capsys.readouterr().err


@pytest.mark.parametrize("number", ("²", "-1", "1.5", ""))
def test_what_is_no_whole_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sweep", "run.seed=1,2", "--most", number])
    assert "--most: expected" in capsys.readouterr().err


# ---------------------------------------------------------------- machine and server


def test_what_the_doctor_looks_at(calls: Calls) -> None:
    calls.instead_of("app.doctor.machine.run_doctor")
    calls.instead_of("app.doctor.server.run_server_doctor")
    main(["doctor", "--outputs", "o"])
    main(["doctor", "--server", "http://h/v1"])
    main(["doctor", "--server", "http://h/v1", "--model", "m", "--key-env", "K"])
    assert [given for given, _ in calls.made] == [
        (Path("o"), default_config()), ("http://h/v1", None, "OPENAI_API_KEY"), ("http://h/v1", "m", "K"),
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--model", "--key-env"])
def test_a_servers_options_are_not_for_a_machine(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", option, "M"]) == 2
    assert capsys.readouterr().err == "--model and --key-env are for a server: add --server URL\n"


def test_what_is_checked(calls: Calls) -> None:
    calls.instead_of("app.doctor.check.run_check")
    main(["check"])
    main(["check", "a.yaml", "b.yaml", "--set", "x=1"])
    assert [given for given, _ in calls.made] == [
        ([default_config()], []), ([Path("a.yaml"), Path("b.yaml")], ["x=1"]),
    ]  # fmt: skip
