"""`steer-tui serve`: the run that it prepares, and the key that it shows once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import app.batch.run_batch as batch
from app.cli import main
from app.runs.client import prepare_run
from engine.config.config import Config
from engine.config.file import load_config
from engine.run.directory import RunDirectory
from tests.kill_and_resume import DEMO

served: list[RunDirectory] = []


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    served.clear()

    def run_batch(directory: RunDirectory, *consoles: object) -> int:
        served.append(directory)
        return 0

    monkeypatch.setattr(batch, "run_batch", run_batch)
    return prepare_run(DEMO, ["run.name=mine"], str(tmp_path / "my runs"))


def prepared(*arguments: str) -> Config:
    assert main(["serve", *arguments]) == 0
    return load_config(served[-1].config)


def test_a_run_of_its_own_points_to_the_run_it_serves(
    source: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--port", "0", "--levers", "esm,notes", "--set", "serve.max_in_flight=3"]
    config = prepared(str(source.path), *given)
    run = served[-1]
    assert run.path.parent.name == "mine-serve" and run.path.parent.parent == source.path.parent.parent
    assert config.run.stages == ["serve"] and config.serve.runs == [str(source.path)]
    assert (config.serve.port, config.serve.levers, config.serve.max_in_flight) == (0, ["esm", "notes"], 3)
    assert config.model == load_config(source.config).model
    said, file = capsys.readouterr().out, run.path / "serve" / "key"
    key = file.read_text().strip()
    assert said.count(key) == 1 and file.stat().st_mode & 0o777 == 0o600
    assert said.splitlines() == [
        f"key: {key}   (shown once; it is in {file})",
        f"watch it: steer-tui '{run.path}'   end it: Ctrl+C",
    ]
    assert key not in run.config.read_text() + run.record.read_text()


def test_of_a_field_that_is_given_twice_its_option_counts(source: RunDirectory) -> None:
    """As in `batch` and `sweep`."""
    config = prepared(str(source.path), "--port", "0", "--levers", "esm", "--set", "serve.levers=[notes]")
    assert config.serve.levers == ["esm"]


def test_a_key_of_the_environment_is_not_shown(
    source: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVER_KEY", "sk-other")
    prepared(str(source.path), "--port", "0", "--key-env", "MY_SERVER_KEY")
    assert prepared(str(source.path), "--port", "0", "--key-env", "none").serve.key_env == "none"
    said = capsys.readouterr().out
    assert "sk-other" not in said and "no key is asked for" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--key-env", "THERE_IS_NONE"], "THERE_IS_NONE"),
        (["--key-env", "sk-a-key"], "not a key"),
        (["--levers", "magic"], "serve.levers"),
        (["--port", "70000"], "serve.port"),
    ],
)
def test_what_cannot_be_served(
    source: RunDirectory, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(source.path), *arguments]) == 2
    said = capsys.readouterr().err
    assert says in said and "sk-a-key" not in said
    outputs = source.path.parent.parent
    assert [path.name for path in outputs.iterdir()] == ["mine"], (
        "no run is left, which `ctl stop` took for a server"
    )


def test_a_server_of_a_server_is_refused(source: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    prepared(str(source.path))
    assert main(["serve", str(served[-1].path)]) == 2
    assert "server itself" in capsys.readouterr().err


def test_the_folder_of_the_run_can_be_chosen(source: RunDirectory, tmp_path: Path) -> None:
    """By default it lies beside the run that it serves."""
    prepared(str(source.path))
    assert served[-1].path.parent.parent == source.path.parent.parent
    prepared(str(source.path), "--set", f"run.outputs={tmp_path / 'elsewhere'}")
    assert served[-1].path.parent.parent == tmp_path / "elsewhere"


def test_a_taken_port_is_refused_before_there_is_a_run(
    source: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", str(source.path), "--port", str(port)]) == 2
    assert f"the port is taken (127.0.0.1:{port})" in capsys.readouterr().err
    assert [path.name for path in source.path.parent.parent.iterdir()] == ["mine"]
