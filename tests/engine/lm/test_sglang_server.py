"""The SGLang server's life and answers, against a stand-in that is a real process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from engine.config import Config
from engine.errors import ConfigError, ModelError
from engine.evolution.cluster_map import NO_CLUSTER, ClusterMap
from engine.evolution.deltas import zero_deltas
from engine.evolution.processor import generate_processor, load_logits_processor, sglang_processor_string
from engine.lm.load import embedded_folder, load_model
from engine.lm.server import Ask, InProcessServer
from engine.lm.sglang_section import ServerSection
from engine.lm.sglang_server import SGLangServer, server_command
from engine.lm.vocabulary import load_vocabulary

STATEMENTS = Config.model_validate({"evolution": {"model": {"backend": "embedded", "path": "statements"}}})
MODEL = STATEMENTS.evolution_model
QUESTIONS = [
    Ask("Statement of Aldex: revenue was 41.0 million. What was the revenue?", 24),
    Ask("Statement of Borum: cash was 12.0 million. What was cash?", 24),
    Ask("Statement of Corin: profit was 7.0 million. What was profit?", 24),
    Ask("Statement of Delta: debt was 93.0 million. What was debt?", 8),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def section(fault: str = "", **changes: object) -> ServerSection:
    command = "{python} -m tests.sglang_stand_in --model-path {model} --host {host} --port {port} "
    command += "--enable-custom-logit-processor" + (f" --fault {fault}" if fault else "")
    settings: dict[str, object] = {
        "kind": "sglang", "command": command, "port": free_port(), "startup_timeout": 60.0, "health_interval": 0.1,
        "grace": 2.0, "request_timeout": 60.0, "concurrency": 2,
    }  # fmt: skip
    return ServerSection.model_validate(settings | changes)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., SGLangServer]]:
    servers: list[SGLangServer] = []
    tokenizer = load_vocabulary(MODEL).tokenizer

    def made(
        fault: str = "", tell: Callable[[str], None] = lambda state: None, **changes: object
    ) -> SGLangServer:
        log = tmp_path / "server.log"
        server = SGLangServer(
            section(fault, **changes),
            str(embedded_folder("statements")),
            tokenizer,
            sglang_processor_string,
            log,
            tell,
        )
        servers.append(server)
        return server

    yield made
    for server in servers:
        server.close()


@pytest.fixture
def processor(tmp_path: Path) -> Path:
    """Pushes the first letters of the alphabet away, far enough to change what is written."""
    vocabulary = load_vocabulary(MODEL)
    ids = np.full(len(vocabulary), 2, dtype=np.uint8)
    ids[vocabulary.padding] = NO_CLUSTER
    for token, text in enumerate(vocabulary.texts):
        if text.strip().lower().startswith(("t", "b", "a")):
            ids[token] = 3
    clusters = ClusterMap(ids, 4, vocabulary.fingerprint)
    path = tmp_path / "processor.py"
    generate_processor(path, clusters, {**zero_deltas(clusters.names), "3": -6.0})
    return path


def in_process() -> InProcessServer:
    model = load_model(MODEL)
    return InProcessServer(lambda: model, load_logits_processor)


def nothing() -> None:
    """A checkpoint that lets pass."""


def test_answers_are_those_of_the_model_in_process(make: Callable[..., SGLangServer], processor: Path):
    server, here = make(), in_process()
    answers = []
    for chosen in (None, processor):
        server.start(chosen)
        here.start(chosen)
        answers.append(server.answer(QUESTIONS, nothing))
        assert answers[-1] == here.answer(QUESTIONS, nothing)
        server.stop()
    assert answers[0] != answers[1], "the processor changes what is written"
    assert any("answered" in line for line in server.log_tail())


def test_a_server_that_dies_is_started_again_and_asked_what_is_missing(
    make: Callable[..., SGLangServer], processor: Path, tmp_path: Path
):
    told: list[str] = []
    server = make(f"crash-once={tmp_path / 'crashed'}", told.append)
    server.start(processor)
    here = in_process()
    here.start(processor)
    assert server.answer(QUESTIONS, nothing) == here.answer(QUESTIONS, nothing)
    assert (tmp_path / "crashed").exists() and told == ["restarting", "healthy"]
    asked = sum(line.startswith("answered") for line in (tmp_path / "server.log").read_text().splitlines())
    assert asked == len(QUESTIONS), "none lost, none asked twice"


@pytest.mark.parametrize(
    ("fault", "changes", "words"),
    [
        ("crash-at-start", {}, r"ended while it started \(exit code 3\)(.|\n)*no such model file"),
        ("never-healthy", {"startup_timeout": 1.5}, r"not healthy within 1.5 s(.|\n)*stand-in for SGLang"),
        (
            "",
            {"command": "/nowhere/python --port {port}"},
            r"ended while it started(.|\n)*cannot start /nowhere/python",
        ),
    ],
)
def test_a_start_that_fails_shows_the_logs_last_lines(
    make: Callable[..., SGLangServer], fault: str, changes: dict[str, object], words: str
):
    server = make(fault, **changes)
    with pytest.raises(ModelError, match=words):
        server.start(None)


def test_a_slow_start_is_waited_for(make: Callable[..., SGLangServer]):
    server = make("slow-start")
    server.start(None)
    assert len(server.answer(QUESTIONS[:1], nothing)) == 1


@pytest.mark.parametrize(("fault", "words"), [("refuse", "refused a question"), ("garbage", "broke twice")])
def test_answers_that_are_none_end_with_an_error(make: Callable[..., SGLangServer], fault: str, words: str):
    server = make(fault)
    server.start(None)
    with pytest.raises(ModelError, match=words):
        server.answer(QUESTIONS, nothing)


def test_a_port_in_use_is_told_before_anything_starts(make: Callable[..., SGLangServer], tmp_path: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server = make(port=other.getsockname()[1])
        with pytest.raises(ModelError, match="cannot be used"):
            server.start(None)
    assert not (tmp_path / "server.log").exists()


def test_what_ignores_sigterm_is_killed_after_the_grace(make: Callable[..., SGLangServer]):
    server = make("ignore-sigterm", grace=0.5)
    server.start(None)
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began >= 0.5
    server.start(None)  # the port is free again


def gone(pid: int) -> bool:
    for _ in range(100):
        with suppress(FileNotFoundError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("how", ["stop", "kill the worker", "kill the guardian"])
def test_nothing_outlives_the_worker(tmp_path: Path, how: str):
    """Not the server, not what the server started."""
    port, pids = free_port(), tmp_path / "child"
    command = [sys.executable, "-m", "tests.sglang_stand_in", "--model-path", "x", "--port", str(port)]
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom engine.lm.server_process import ServerProcess\n"
        f"process = ServerProcess(Path({str(tmp_path / 'log')!r}), 1.0)\n"
        f"process.start({[*command, '--fault', f'leave-a-child={pids}']!r}, {{}})\n"
        "print(process._guardian.pid, flush=True)\nsys.stdin.readline()\nprocess.stop()\n"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdin is not None and worker.stdout is not None
    guardian = int(worker.stdout.readline())
    for _ in range(200):
        if pids.is_file() and pids.read_text():
            break
        time.sleep(0.1)
    grandchild = int(pids.read_text())
    if how == "kill the worker":
        worker.send_signal(signal.SIGKILL)
    elif how == "kill the guardian":
        os.kill(guardian, signal.SIGKILL)
        time.sleep(0.2)
        worker.stdin.write("\n")
        worker.stdin.flush()
    else:
        worker.stdin.write("\n")
        worker.stdin.flush()
    worker.wait()
    assert gone(guardian) and gone(grandchild)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("command", ["sglang --host 0.0.0.0", "sglang --host=192.168.1.7 --port {port}"])
def test_a_server_that_others_could_reach_is_refused(command: str):
    with pytest.raises(ConfigError, match="for this machine alone"):
        server_command(ServerSection(command=command), "model")


def test_an_unknown_placeholder_is_named():
    with pytest.raises(ConfigError, match="only placeholders"):
        server_command(ServerSection(command="sglang --tp {gpus}"), "model")
