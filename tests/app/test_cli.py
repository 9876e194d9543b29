from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.batch.display import pace, sentence
from app.cli import main
from app.cli.options import default_config
from app.doctor import machine as doctor
from app.wording.text import duration, error_line, resume_command
from engine.events import StageFinished, StageFinishedBefore, StageProgress, StagesChosen, StageStarted
from engine.run.stage_state import Stages, fold_stages


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("steer-tui 0.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batch", "some-run"], "unrecognized arguments: some-run"),
        (["run", "some-run", "--json"], "unrecognized arguments: --json"),
        (["report", "some-run", "--set", "online.L=1"], "unrecognized arguments: --set"),
        (["report", "some-run", "--html", "--md"], "--md: not allowed with argument --html"),
        (["--batch", "--resume", "x", "--config", "c.yaml"], "--config: not allowed with argument --resume"),
        (["some-run", "--config", "c.yaml"], "--config: not allowed with argument RUN"),
        (["--batch", "--stages", "a,,b"], "expected names, separated by commas"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--sweep", "online.L=1,2"], "unrecognized arguments: --sweep"),
        (["export", "some-run"], "invalid choice: 'some-run'"),
    ],
)
def test_options_that_do_not_go_together(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--batch", "--config", "none.yaml"],
            "none.yaml: expected a YAML file that can be read: no such file",
        ),
        (["--batch", "--resume", "none"], "there is no such run (none"),
        (["batch", "--resume", "none"], "there is no such run (none"),
        (["some-run", "--set", "online.L=1"], "a run has its own configuration (--set)"),
        (
            ["--batch", "--resume", "x", "--set", "online.L=1"],
            "a resumed run keeps its configuration (--set)",
        ),
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


def test_console_without_terminal_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2 and "needs a terminal" in done.stderr and "Traceback" not in done.stderr


def test_pace_counts_this_attempt_only() -> None:
    stages: Stages = {}
    fold_stages(stages, StageStarted(stage="eval", total=100, done=40))
    assert pace(stages["eval"]) == "40 of 100 items"
    fold_stages(stages, StageProgress(stage="eval", done=50, total=100, tokens=500, elapsed=5.0))
    assert pace(stages["eval"]) == "50 of 100 items, 100 tokens/s, 0:25 left"


def test_sentences_of_events() -> None:
    event = StageFinished(seconds=61, summary={"pairs": 12, "rate": 0.123456})
    assert sentence(event) == "finished in 1:01 (pairs 12; rate 0.1235)"
    assert sentence(StageProgress(done=1, total=2)) is None
    assert sentence(StageFinishedBefore(stage="mine")) == "finished by an earlier attempt"
    assert sentence(StagesChosen(skipped=["mine"])) == "skipped: mine"


def test_words() -> None:
    assert [duration(s) for s in (0, 7.4, 61, 3723)] == ["0:00", "0:07", "1:01", "1:02:03"]
    assert [duration(s) for s in (7.6, 59.6, 3599.5)] == ["0:08", "1:00", "1:00:00"]
    assert error_line("a\nb", "w", "m") == "a b (w): m"
    assert resume_command(Path("a b")) == "steer-tui batch --resume 'a b'"


def test_doctor_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = doctor.run_doctor(tmp_path / "not" / "yet", default_config())
    out = capsys.readouterr().out
    for name in (
        "python",
        "configs/demo.yaml: nothing is missing",
        "sglang",
        "cuda",
        "hub",
        "terminal",
        "GB free",
    ):
        assert name in out
    assert code == (0 if "the demo runs here" in out else 1)
