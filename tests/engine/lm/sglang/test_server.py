"""The SGLang server's life and answers, against a stand-in that is a real process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.models.sglang import ServerSection
from engine.errors import ConfigError, ModelError
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap
from engine.evolution.deltas import zero_deltas
from engine.evolution.processor import generate_processor, load_logits_processor, sglang_processor_string
from engine.lm.loading.load import embedded_folder, load_model
from engine.lm.model_server import InProcessServer, ModelQuestion
from engine.lm.sglang.command import network_addresses, server_command
from engine.lm.sglang.generate import Broken, GenerateClient
from engine.lm.sglang.server import SGLangServer
from engine.lm.vocabulary import load_vocabulary
from engine.run.gate import StopRequested
from tests.exactly import exactly

STATEMENTS = Config.model_validate({"evolution": {"model": {"backend": "embedded", "path": "statements"}}})
MODEL = STATEMENTS.evolution_model
QUESTIONS = [
    ModelQuestion("Statement of Aldex: revenue was 41.0 million. What was the revenue?", 24),
    ModelQuestion("Statement of Borum: cash was 12.0 million. What was cash?", 24),
    ModelQuestion("Statement of Corin: profit was 7.0 million. What was profit?", 24),
    ModelQuestion("Statement of Delta: debt was 93.0 million. What was debt?", 8),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def section(fault: str = "", **changes: object) -> ServerSection:
    command = "{python} -m tests.sglang_stand_in --model-path {model} --host {host} --port {port} "
    command += "--enable-custom-logit-processor" + (f" --fault {fault}" if fault else "")
    settings: dict[str, object] = {
        "kind": "sglang", "command": command, "port": free_port(), "concurrency": 2,
    }  # fmt: skip
    return ServerSection.model_validate(settings | changes)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SGLangServer]]:
    servers: list[SGLangServer] = []
    monkeypatch.setattr(ServerSection, "health_interval", 0.1)
    monkeypatch.setattr(ServerSection, "grace", 2.0)
    monkeypatch.setattr(ServerSection, "startup_timeout", 60.0)
    monkeypatch.setattr(ServerSection, "request_timeout", 60.0)
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
            hidden=["OPENAI_API_KEY"],
        )
        servers.append(server)
        return server

    yield made
    for server in servers:
        server.stop()


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


def log_lines(folder: Path, begin: str) -> int:
    """How many lines of the server's log begin so."""
    return sum(line.startswith(begin) for line in (folder / "server.log").read_text().splitlines())


@pytest.mark.usefixtures("stand_in_libraries")
def test_answers_are_those_of_the_model_in_process(make: Callable[..., SGLangServer], processor: Path):
    server, here = make(), in_process()
    answers = []
    for chosen in (None, processor):
        server.start(chosen, nothing)
        here.start(chosen, nothing)
        answers.append(server.answer(QUESTIONS, nothing))
        assert answers[-1] == here.answer(QUESTIONS, nothing)
    assert answers[0] != answers[1], "the processor changes what is written"
    assert any("answered" in line for line in server.log_tail())


@pytest.mark.usefixtures("stand_in_libraries")
def test_a_server_that_dies_is_started_again_and_asked_what_is_missing(
    make: Callable[..., SGLangServer], processor: Path, tmp_path: Path
):
    told: list[str] = []
    server = make(f"crash-once={tmp_path / 'crashed'}", told.append)
    server.start(processor, nothing)
    here = in_process()
    here.start(processor, nothing)
    assert server.answer(QUESTIONS, nothing) == here.answer(QUESTIONS, nothing)
    assert (tmp_path / "crashed").exists() and told == ["restarting", "healthy"]
    assert log_lines(tmp_path, "answered") == len(QUESTIONS), "none lost, none asked twice"


@pytest.mark.parametrize(
    ("fault", "changes", "words"),
    [
        ("crash-at-start", {}, r"ended while it started \(exit code 3\)(.|\n)*no such model file"),
        ("never-healthy", {}, r"not healthy within 2 s(.|\n)*stand-in for SGLang"),
        ("hang-on-health", {}, r"not healthy within 2 s(.|\n)*stand-in for SGLang"),
        (
            "",
            {"command": "/nowhere/python --port {port}"},
            r"ended while it started \(exit code 127\)(.|\n)*cannot start /nowhere/python",
        ),
        ("", {"command": "sh -c 'kill -KILL $$'"}, r"exit code 137\)(.|\n)*ended by SIGKILL"),
        (
            "",
            {
                "command": "sh -c '{python} -m tests.sglang_stand_in --model-path {model} --host 0.0.0.0 --port {port} "
                "--fault echo'"
            },
            r"open to the network at 0\.0\.0\.0",
        ),
    ],
)
def test_a_start_that_fails_shows_the_logs_last_lines(
    make: Callable[..., SGLangServer],
    fault: str,
    changes: dict[str, object],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("engine.lm.sglang.server._HEALTH_TIMEOUT", 1.0)
    if "health" in fault:
        monkeypatch.setattr(ServerSection, "startup_timeout", 2.0)
    server = make(fault, **changes)
    with pytest.raises(ModelError, match=words):
        server.start(None, nothing)


def test_a_health_check_may_take_longer_than_the_interval(make: Callable[..., SGLangServer]):
    """As SGLang's does, which answers after a second at the earliest."""
    make("slow-health").start(None, nothing)


def test_a_python_without_sglang_is_named(make: Callable[..., SGLangServer]):
    """The default: SGLang cannot live in the environment of this program, whose openai it would replace."""
    with pytest.raises(ModelError, match="environment of its own"):
        make(command=ServerSection().command).start(None, nothing)


@pytest.mark.parametrize(
    ("fault", "words", "states"),
    [
        ("refuse", "refused a question: status 400(.|\n)*longer than", []),
        ("garbage", "refused a question: the reply has no output_ids", []),
        ("always-500", "broke twice, 4 of 4(.|\n)*out of memory", ["restarting", "healthy", "failed"]),
        ("abort", "broke twice, 4 of 4(.|\n)*scheduler gave up", ["restarting", "healthy", "failed"]),
    ],
)
def test_answers_that_are_none_end_with_an_error(
    make: Callable[..., SGLangServer], fault: str, words: str, states: list[str]
):
    told: list[str] = []
    server = make(fault, told.append)
    server.start(None, nothing)
    with pytest.raises(ModelError, match=words):
        server.answer(QUESTIONS, nothing)
    assert told == states


def test_a_server_that_falls_silent_is_started_again(
    make: Callable[..., SGLangServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ServerSection, "request_timeout", 3.0)
    server = make(f"hang-once={tmp_path / 'hung'}", concurrency=1)
    server.start(None, nothing)
    assert all(answer.tokens for answer in server.answer(QUESTIONS, nothing))
    assert (tmp_path / "hung").exists()
    assert log_lines(tmp_path, "answered") == len(QUESTIONS), "none lost, none asked twice"


def test_a_pause_begins_no_further_question_and_loses_none(make: Callable[..., SGLangServer], tmp_path: Path):
    """The checkpoint blocks after the first answer until the log has been still for a second."""
    server = make("echo", concurrency=1)
    server.start(None, nothing)
    seen: list[int] = []

    def pause() -> None:
        if not seen and (answered := log_lines(tmp_path, "answered")):
            time.sleep(1.0)
            seen.extend([answered, log_lines(tmp_path, "answered")])

    assert len(server.answer(QUESTIONS, pause)) == len(QUESTIONS)
    assert seen[1] <= seen[0] + 1 < len(QUESTIONS), "what was begun is ended, nothing else is begun"
    assert log_lines(tmp_path, "answered") == len(QUESTIONS)


@pytest.mark.parametrize("when", ["starting", "answering"])
def test_a_stop_leaves_no_server(make: Callable[..., SGLangServer], when: str):
    port = free_port()
    server = make("never-healthy" if when == "starting" else "echo", port=port)

    def stop() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        server.start(None, stop if when == "starting" else nothing)
        server.answer(QUESTIONS, stop)
    assert not server._process.running
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_stop_does_not_wait_for_answers_under_way(make: Callable[..., SGLangServer], tmp_path: Path):
    """The server is silent for good after two answers."""
    server = make(f"hang-once={tmp_path / 'hung'}")
    server.start(None, nothing)

    def stop() -> None:
        if (tmp_path / "hung").exists():
            raise StopRequested

    began = time.monotonic()
    with pytest.raises(StopRequested):
        server.answer(QUESTIONS, stop)
    assert time.monotonic() - began < 30


def test_the_server_is_not_given_the_keys(
    make: Callable[..., SGLangServer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    make("tell-environment").start(None, nothing)
    names = next(line for line in (tmp_path / "server.log").read_text().splitlines() if "environment" in line)
    assert "HF_HOME" in names.split() and "OPENAI_API_KEY" not in names


def test_the_tail_is_of_the_last_start(make: Callable[..., SGLangServer], tmp_path: Path):
    (tmp_path / "server.log").write_text("of another run\n")
    server = make("crash-at-start")
    with pytest.raises(ModelError):
        server.start(None, nothing)
    assert server.log_tail()[-1] == "RuntimeError: no such model file"
    assert "of another run" not in server.log_tail()
    assert (tmp_path / "server.log").read_text().startswith("of another run")


def test_a_port_in_use_is_told_before_anything_starts(
    make: Callable[..., SGLangServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ServerSection, "grace", 0.2)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server = make(port=other.getsockname()[1])
        with pytest.raises(
            ModelError,
            match=exactly(
                "port … cannot be used: Address already in use (evolution.server.port): stop what "
                "listens there, or name another port"
            ),
        ):
            server.start(None, nothing)
    assert not (tmp_path / "server.log").exists()


def test_a_port_that_a_killed_run_still_holds_is_waited_for(
    make: Callable[..., SGLangServer], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ServerSection, "grace", 20.0)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server = make("echo", port=other.getsockname()[1])
        looks: list[float] = []

        def leave() -> None:
            looks.append(time.monotonic())
            if len(looks) == 5:
                other.close()

        server.start(None, leave)
    assert len(looks) >= 5 and len(server.answer(QUESTIONS[:1], nothing)) == 1


def test_a_server_without_custom_processors_is_named(make: Callable[..., SGLangServer], processor: Path):
    server = make(command=section("echo").command.replace("--enable-custom-logit-processor", ""))
    server.start(processor, nothing)
    with pytest.raises(
        ModelError, match=r"refused a question: status 400(.|\n)*not configured to enable custom"
    ):
        server.answer(QUESTIONS[:1], nothing)


@pytest.mark.parametrize("wrapper", ["{}", "sh -c '{}; exit'"])
def test_a_server_ends_its_own_processes(make: Callable[..., SGLangServer], tmp_path: Path, wrapper: str):
    """SGLang takes a scheduler that was ended beside it for a crash, and sleeps before it says so."""
    server = make(command=wrapper.format(section("scheduler").command))
    server.start(None, nothing)
    server.stop()
    assert log_lines(tmp_path, "Finished server process") == 1 and not log_lines(tmp_path, "Subprocess")


def test_what_ignores_sigterm_is_killed_after_the_grace(
    make: Callable[..., SGLangServer], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ServerSection, "grace", 0.5)
    server = make("ignore-sigterm")
    server.start(None, nothing)
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began >= 0.5
    server.start(None, nothing)  # the port is free again


def child_of(pid: int) -> int:
    """The first one."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def gone(pid: int) -> bool:
    for _ in range(100):
        with suppress(FileNotFoundError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("how", "leaves"),
    [
        ("stop", "leave-a-child"),
        ("stop", "leave-a-daemon"),
        ("kill the worker", "leave-a-child"),
        ("kill the worker", "leave-a-daemon"),
        ("kill the guardian", "leave-a-child"),
        ("kill the server", "leave-a-daemon"),
    ],
)
def test_nothing_outlives_the_worker(tmp_path: Path, how: str, leaves: str):
    """Not the server, not what the server started."""
    port, pids = free_port(), tmp_path / "child"
    command = [sys.executable, "-m", "tests.sglang_stand_in", "--model-path", "x", "--port", str(port)]
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom engine.processes.server_process import ServerProcess\n"
        f"process = ServerProcess(Path({str(tmp_path / 'log')!r}), 1.0)\n"
        f"process.start({[*command, '--fault', f'{leaves}={pids}']!r}, {{}})\n"
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
    elif how == "kill the server":
        os.kill(child_of(guardian), signal.SIGKILL)
        assert gone(grandchild), "while the worker still runs"
        worker.kill()
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


@pytest.mark.parametrize(
    "command",
    [
        "sglang --host 0.0.0.0",
        "sglang --host=192.168.1.7 --port {port}",
        "sglang --hos ::",
        "sglang --ho ::",
        "sglang --host",
        "sglang --api-key sk-secret",
        "sglang --admin-api-key=sk-secret",
    ],
)
def test_a_server_that_others_could_reach_is_refused(command: str):
    with pytest.raises(ConfigError, match="only this machine may reach") as refused:
        server_command(ServerSection(command=command), "model")
    assert "sk-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "command", ["sglang --tp {gpus}", "sglang {model.x}", "sglang {0}", "sglang 'open", "{"]
)
def test_a_command_that_cannot_be_filled_in_is_named(command: str):
    with pytest.raises(ConfigError, match="only placeholders"):
        server_command(ServerSection(command=command), "model")


def test_a_command_is_filled_in_word_by_word():
    found = server_command(
        ServerSection(command="sglang --model-path {model} --host={host} --port={port}", port=7), "my model"
    )
    assert found == ["sglang", "--model-path", "my model", "--host=127.0.0.1", "--port=7"]


def test_who_listens_to_the_network_is_seen():
    for host, seen in (("127.0.0.1", []), ("0.0.0.0", ["0.0.0.0"])):
        with socket.socket() as listening:
            listening.bind((host, 0))
            listening.listen()
            assert network_addresses(listening.getsockname()[1]) == seen


def test_an_address_of_version_4_in_the_table_of_version_6_is_one_of_version_4():
    """As a server has it that listens for both."""
    with socket.socket(socket.AF_INET6) as listening:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(("::ffff:127.0.0.1", 0))
        listening.listen()
        assert network_addresses(listening.getsockname()[1]) == [], "nobody else reaches it"


def test_of_the_kernels_tables_those_count_that_listen_to_others_at_the_port(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Port 8080 is 1F90; connections of it (01), other ports, and this machine's own addresses do not count."""
    lines = {
        "tcp": ["0100007F:1F90 00000000:0000 0A", "0500000A:1F90 00000000:0000 0A",
                "0600000A:1F90 0700000A:C350 01", "0500000A:1F91 00000000:0000 0A"],
        "tcp6": ["00000000000000000000000001000000:1F90 0:0 0A", "B80D0120000000000000000001000000:1F90 0:0 0A"],
    }  # fmt: skip
    for name, rows in lines.items():
        numbered = [f"{number}: {row} 00000000:00000000" for number, row in enumerate(rows)]
        (tmp_path / name).write_text("\n".join(["  sl  local_address rem_address   st", *numbered]))
    monkeypatch.setattr("engine.lm.sglang.command.Path", lambda table: tmp_path / Path(table).name)
    monkeypatch.setattr("engine.lm.sglang.command.sys", SimpleNamespace(byteorder="little"))
    assert network_addresses(8080) == ["10.0.0.5", "2001:db8::1"]


@pytest.mark.parametrize(
    ("option", "drawn"),
    [("--enable-deterministic-inference", True), ("--enable-determ", True), ("--enable-metrics", False)],
)
def test_a_server_draws_by_seed_only_with_its_option(option: str, drawn: bool):
    """Its parser takes the beginning of the name, too."""
    tokenizer = load_vocabulary(MODEL).tokenizer
    made = SGLangServer(ServerSection(command=f"sglang {option}"), "m", tokenizer, str, Path("log"))
    assert made.draws_by_seed is drawn


def test_what_a_question_is_sent_as():
    """A seed that SGLang can hold: it has 31 bits; without a temperature there is nothing to draw."""
    tokenizer = load_vocabulary(MODEL).tokenizer
    client = GenerateClient("http://127.0.0.1:9", tokenizer, 1.0)
    ends = sorted(tokenizer.eos_token_ids)
    question = ModelQuestion("Why?", 7, temperature=0.5, seed=2**31 + 5, system="Be brief.")
    prompt = list(tokenizer.encode_chat("Why?", "Be brief."))
    sampling: dict[str, object] = {"max_new_tokens": 7, "temperature": 0.5, "stop_token_ids": ends}
    assert client.body(question, "code") == {
        "input_ids": prompt,
        "sampling_params": sampling | {"sampling_seed": 5},
        "custom_logit_processor": "code",
    }
    plain = client.body(ModelQuestion("Why?", 7), None)
    assert plain["sampling_params"] == sampling | {"temperature": 0.0} and len(plain) == 2
    assert plain["input_ids"] == list(tokenizer.encode_chat("Why?")) != prompt


def parts_of(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> tuple[Any, SimpleNamespace]:
    """A server of these parts, and the clock that its sleeping moves."""
    clock = SimpleNamespace(now=100.0)

    def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(
        "engine.lm.sglang.server.time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep)
    )
    server: Any = SGLangServer.__new__(SGLangServer)
    vars(server).update({"log_tail": list, "_command": ["sg"], "_log": "s.log", "_processor": None, **parts})
    return server, clock


@pytest.mark.parametrize(
    ("healthy", "running", "seconds", "what"),
    [
        (False, True, 20.0, "the server was not healthy within 20 s"),
        (True, False, 0.0, "the server ended while it started (exit code 3)"),
    ],
)
def test_another_server_at_the_port_is_not_the_one_that_was_started(
    monkeypatch: pytest.MonkeyPatch, healthy: bool, running: bool, seconds: float, what: str
):
    server, clock = parts_of(
        monkeypatch,
        _section=SimpleNamespace(startup_timeout=20.0, request_timeout=70.0, health_interval=5.0),
        _client=SimpleNamespace(healthy=lambda timeout: healthy),
        _process=SimpleNamespace(running=running, exit_code=3),
    )
    with pytest.raises(ModelError) as raised:
        server._wait_for_health(nothing)
    assert raised.value.what == what and seconds <= clock.now - 100.0 <= seconds + 5.2


def test_a_port_is_waited_for_a_second_longer_than_a_server_may_take_to_end(monkeypatch: pytest.MonkeyPatch):
    server, clock = parts_of(monkeypatch, _section=SimpleNamespace(port=7, grace=20.0))
    monkeypatch.setattr("engine.lm.sglang.server._unusable", lambda port: "in use")
    with pytest.raises(ModelError, match=r"^port 7 cannot be used: in use"):
        server._wait_for_port(nothing)
    assert 121.0 < clock.now < 121.2


class Client:
    """Answers in the order in which they are let go; `asked`: the questions, as they were sent."""

    def __init__(self, replies: dict[str, Any]) -> None:
        self._replies = replies
        self.asked: list[str] = []

    def body(self, question: ModelQuestion, processor: str | None) -> Any:
        return question.prompt

    def send(self, body: str) -> Any:
        self.asked.append(body)
        reply = self._replies[body]
        if isinstance(reply, Exception):
            raise reply
        return reply() if callable(reply) else reply

    def read(self, reply: Any) -> Any:
        return reply


def test_answers_come_in_the_order_of_their_questions_and_are_reported_as_they_come(
    monkeypatch: pytest.MonkeyPatch,
):
    """The first is answered after the second."""
    second, reported = threading.Event(), list[tuple[int, str]]()
    client = Client({"a": lambda: second.wait(10) and "A", "b": "B"})
    server, _ = parts_of(monkeypatch, _client=client, _section=SimpleNamespace(concurrency=2))

    def answered(number: int, answer: str) -> None:
        reported.append((number, answer))
        second.set()

    assert server.answer([ModelQuestion("a", 1), ModelQuestion("b", 1)], nothing, answered) == ["A", "B"]
    assert reported == [(1, "B"), (0, "A")]


def test_a_server_that_broke_is_asked_nothing_more_and_its_failed_start_is_told(
    monkeypatch: pytest.MonkeyPatch,
):
    told: list[str] = []
    client = Client({"a": "A", "b": Broken("torn"), "c": "C"})

    def start(checkpoint: object) -> None:
        raise ModelError(what="no room", where="here", hint="wait")

    server, _ = parts_of(
        monkeypatch, _client=client, _section=SimpleNamespace(concurrency=1), _tell=told.append,
        _process=SimpleNamespace(stop=lambda: told.append("stopped")), _start=start,
    )  # fmt: skip
    with pytest.raises(ModelError, match=r"^no room"):
        server.answer([ModelQuestion(letter, 1) for letter in "abc"], nothing)
    assert client.asked == ["a", "b"] and told == ["restarting", "stopped", "failed"]


@pytest.mark.parametrize(("package", "named"), [("sglang", True), ("flask", False)])
def test_only_a_python_without_sglang_is_told_to_be_changed(
    monkeypatch: pytest.MonkeyPatch, package: str, named: bool
):
    tail = ["Traceback", f"ModuleNotFoundError: No module named '{package}'"]
    server, _ = parts_of(monkeypatch, log_tail=lambda: tail)
    assert ("an environment of its own" in server._failed("it broke").hint) is named


def test_an_error_shows_the_last_eight_lines_of_the_log(monkeypatch: pytest.MonkeyPatch):
    server, _ = parts_of(
        monkeypatch, log_tail=lambda: [f"line {n}" for n in range(20)], _command=["sg", "a b"]
    )
    error = server._failed("it broke")
    assert error.what.splitlines() == ["it broke; its last lines:", *(f"line {n}" for n in range(12, 20))]
    assert error.where == "evolution.server: sg 'a b'"
    assert error.hint == "see s.log; or `evolution.server.kind: in_process`, without a server"
