from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.batch.display import Pace, sentence
from app.batch.result_tables import Results
from app.cli import main
from app.doctor import machine as doctor
from app.text import duration, error_line, resume_command
from engine.events import MethodEvaluated, StageFinished, StageProgress, StageStarted
from engine.run.directory import RunDirectory
from tests.synthetic_pool import pool_events


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("steer-tui 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--batch", "some-run"],
        ["--resume", "x"],
        ["--stages", "eval"],
        ["--prepare"],
        ["--set", "online.L=1"],
        ["--batch", "--resume", "x", "--config", "c.yaml"],
        ["--batch", "--resume", "x", "--set", "online.L=1"],
        ["run", "--config", "c.yaml"],
        ["--batch", "--stages", "a,,b"],
        ["--nonsense"],
    ],
)
def test_options_that_do_not_go_together(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batch", "--config", "none.yaml"], "none.yaml: found No such file"),
        (["--batch", "--resume", "none"], "there is no such run (none"),
    ],
)
def test_bad_input_is_one_red_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1


def test_a_prepared_run_waits_for_whoever_starts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = ["--outputs", str(tmp_path)]
    assert main(["--batch", "--prepare", "--stages", "graphs,gflownet", "--set", "run.name=p", *outputs]) == 0
    directory = RunDirectory(Path(capsys.readouterr().out.strip()))
    assert directory.path.parent == tmp_path / "p"
    assert list(directory.read().stages) == ["graphs", "gflownet"] and directory.read().attempts == 0
    assert not directory.events.exists() and not directory.worker_log.exists()
    assert main(["--batch", "--resume", str(directory.path), "--prepare", "--stages", "gflownet"]) == 0
    assert capsys.readouterr().out == f"{directory.path}\n"


def test_console_without_terminal_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "needs a terminal" in done.stderr and "Traceback" not in done.stderr


def test_pace_counts_this_attempt_only() -> None:
    pace = Pace.begin(StageStarted(total=100, done=40))
    assert pace.left is None and pace.tokens_per_second is None
    pace.update(StageProgress(done=50, total=100, tokens=500, elapsed=5.0))
    assert (pace.left, pace.tokens_per_second) == (25.0, 100.0)
    assert str(pace) == "50 of 100 items, 100 tokens/s, 0:25 left"


def test_sentences_of_events() -> None:
    event = StageFinished(seconds=61, summary={"pairs": 12, "rate": 0.123456})
    assert sentence(event) == "finished in 1:01 (pairs 12, rate 0.1235)"
    assert sentence(StageProgress(done=1, total=2)) is None


def test_table_has_the_methods_figures(capsys: pytest.CaptureFixture[str]) -> None:
    from app.text_console import make_console

    results = Results()
    running = {"method": "esm", "n": 1, "accuracy": 0.0, "mean_tokens": 1.0, "final": False}
    results.take(MethodEvaluated(**running))
    results.take(
        MethodEvaluated(
            method="esm",
            n=200,
            accuracy=0.985,
            mean_tokens=68.25,
            mean_probe_tokens=20.5,
            difference=0.365,
            low=0.3,
            high=0.43,
            p=1e-9,
        )
    )
    results.take(StageFinished(stage="eval", seconds=3, files=["eval/summary.jsonl"]))
    results.print(make_console(), RunDirectory(Path("outputs/demo/1")))
    out = capsys.readouterr().out
    for figure in (
        "200",
        "0.985",
        "+0.365",
        "[+0.300, +0.430]",
        "1e-09",
        "68.2",
        "20.5",
        "eval/summary.jsonl",
    ):
        assert figure in out


def test_tables_of_pool_and_selector(capsys: pytest.CaptureFixture[str]) -> None:
    from app.text_console import make_console

    results = Results()
    for event in pool_events():
        results.take(event)
    results.print(make_console(), RunDirectory(Path("outputs/demo/1")))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["after", "injection", "0.867", "2", "0.667", "[0.208,", "0.939]"] in lines
    assert ["rices", "2", "0.810", "[0.710,", "0.910]"] in lines
    assert ["selector", "2", "0.900", "[0.800,", "1.000]", "+0.090", "[+0.040,", "+0.140]", "0.012"] in lines


def test_words() -> None:
    assert [duration(s) for s in (0, 7.4, 61, 3723)] == ["0:00", "0:07", "1:01", "1:02:03"]
    assert error_line("a\nb", "w", "m") == "a b (w): m"
    assert resume_command(Path("a b")) == "steer-tui --batch --resume 'a b'"


def test_whole_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    whole = len(header).to_bytes(8, "little") + header + bytes(8)
    for data, expected in (
        (whole, True),
        (whole[:-1], False),
        (whole + b"x", False),
        (b"version https://git-lfs.github.com/spec/v1\n", False),
        (b"", False),
    ):
        path.write_bytes(data)
        assert doctor.is_whole_safetensors(path) is expected


def test_doctor_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = doctor.run_doctor(tmp_path / "not" / "yet")
    out = capsys.readouterr().out
    for name in (
        "python",
        "torch",
        "textual",
        "embedded model arithmetic",
        "embedded model statements",
        "cuda",
        "hub",
        "terminal",
        "GB free",
    ):
        assert name in out
    assert code == (0 if "the demo runs here" in out else 1)
