"""The console's and batch's side of a run: prepare it, start its worker, command it.

Nothing heavy is imported here; reading a configuration (pydantic) happens only when a run is prepared.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from engine.errors import ConfigError, RunError, disk_errors
from engine.processes.engine_process import engine_command, engine_environment
from engine.regular_file import open_to_append
from engine.run.control_address import reachable_address
from engine.run.directory import RunDirectory, StageRecord, create_run, inspect, new_record
from engine.run.lock import LockInfo, read_lock, signal_holder
from engine.versions import versions

if TYPE_CHECKING:
    from engine.run.stage_choices import Choice, StageChange

_LONGEST_REPLY = 1 << 16


class WorkerReply(msgspec.Struct, frozen=True):
    """A worker's answer to a command. `status`: pid, state (that of `Gate`), stage, ...; `stages`:
    those that a choice changed."""

    ok: bool
    status: dict[str, Any] = {}
    error: str = ""
    stages: tuple[str, ...] = ()


def as_changes(fields: Mapping[str, object]) -> list[str]:
    """`field=value` for each field that has a value."""
    return [f"{name}={json.dumps(value)}" for name, value in fields.items() if value is not None]


def prepare_serving(sources: Sequence[RunDirectory], changes: Sequence[str]) -> RunDirectory:
    """A run that serves the first one's model with the levers of all, beside the first unless `changes` say where.
    Raises ConfigError, also for a key that is not where it is said to be, and RunError where nothing can listen."""
    from engine.config.file import load_config
    from engine.serve.key import named_key
    from engine.serve.listening import bound

    first = sources[0]
    record = first.read()
    if list(record.stages) == ["serve"]:
        raise RunError(
            what="this run is a server itself",
            where=str(first.path),
            hint="resume it, or name the run that it serves",
        )
    runs = [str(source.path.absolute()) for source in sources]
    named = {"run.name": f"{record.name}-serve", "run.stages": ["serve"], "serve.runs": runs}
    overrides = [*as_changes(named), *changes]
    section = load_config(first.config, overrides).serve
    named_key(section)
    bound(section.host, section.port).close()
    elsewhere = any(change.partition("=")[0].strip() == "run.outputs" for change in changes)
    outputs = None if elsewhere else str(first.path.absolute().parent.parent)
    return prepare_run(first.config, overrides, outputs)


def prepare_run(config_path: Path, overrides: Sequence[str] = (), outputs: str | None = None) -> RunDirectory:
    """Make the folder of a new run. Raises ConfigError with all problems, DiskError where it cannot be written."""
    from engine.config.changes import changed_fields
    from engine.config.file import dump_config, load_config

    where = as_changes({"run.outputs": outputs})
    config = load_config(config_path, [*overrides, *where])
    resolved = config.model_dump(mode="json")
    try:
        before = load_config(config_path, where).model_dump(mode="json")
    except ConfigError:
        before = {}  # the file is right only with its changes
    changes = changed_fields(before, resolved) if before else _named(overrides, resolved)
    record = new_record(
        config.run.name,
        seed=config.run.seed,
        stages=config.run.stages,
        config=resolved,
        versions=versions(),
        changes=changes,
    )
    return create_run(Path(config.run.outputs), record, dump_config(config))


def _named(overrides: Sequence[str], resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields that `overrides` set."""
    names = [override.partition("=")[0].strip() for override in overrides]
    return {name: reduce(lambda section, key: section[key], name.split("."), resolved) for name in names}


def prepare_resume(directory: RunDirectory, stages: Sequence[str] | None = None) -> None:
    """Check that a run can be resumed; `stages`: what it runs from now on (finished stages stay finished).
    Raises RunError when a worker runs."""
    status = inspect(directory.path)
    if status.alive:
        raise RunError(
            what=f"worker {status.pid} on {status.host} already works on this run",
            where=str(directory.path),
            hint=f"watch it with `steer-tui {quote(str(directory.path))}`, or stop it first",
        )
    if stages is None:
        return
    from engine.config.file import dump_config, load_config
    from engine.files import write_atomic

    config = load_config(directory.config, as_changes({"run.stages": stages}))
    record = status.record
    record.config = config.model_dump(mode="json")
    record.stages = {
        name: record.stages.get(name, StageRecord()) for name in [*record.stages, *config.run.stages]
    }
    write_atomic(directory.config, dump_config(config))
    directory.write(record)


def start_worker(directory: RunDirectory) -> subprocess.Popen[bytes]:
    """Start a worker on a run."""
    return start_detached("run", directory.path)


def start_detached(command: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start `python -m engine COMMAND FOLDER` in a session of its own: it runs on after this process and its terminal.
    Raises DiskError where its log cannot be written."""
    log = RunDirectory(folder).worker_log
    with disk_errors(log), open_to_append(log) as file:
        return subprocess.Popen(
            engine_command(command, str(folder.absolute())), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            start_new_session=True, env=engine_environment(),
        )  # fmt: skip


def send(directory: RunDirectory, command: str, timeout: float = 2.0, **more: object) -> WorkerReply:
    """Send a command to a worker: pause, continue, stop, stage or status. Raises RunError if none answers."""

    def unreachable(what: str, hint: str) -> RunError:
        return RunError(what=what, where=str(directory.control), hint=hint)

    if not directory.control.exists():
        raise unreachable("the worker does not answer", "no worker runs: resume the run to start a worker")
    address = reachable_address(directory.control)
    if address is None:
        raise unreachable(
            "the path of the control socket is too long", "go to the run's folder (cd) and try again"
        )
    try:
        return _exchange(address, read_lock(directory.lock), {"command": command, **more}, timeout)
    except (OSError, ValueError, RecursionError) as error:
        hint = "see with `steer-tui` whether it still runs; if it runs on another machine, send the command there"
        raise unreachable(f"the worker does not answer: {error}", hint) from error


def choose_stage(directory: RunDirectory, choice: Choice, stage: str, undo: bool = False) -> StageChange:
    """Begin a stage again, skip it, or make it the last one: the worker does it where one works on the run. Raises
    RunError where that cannot be done, saying why; DiskError."""
    from engine.run.stage_choices import StageChange, change_of, choose

    status = inspect(directory.path)
    if not status.alive:
        return choose(directory, choice, stage, undo)
    change_of(status.record, choice, stage, undo, working=True)  # says best what is wrong
    reply = send(directory, "stage", choice=choice, stage=stage, undo=undo)
    if not reply.ok:
        raise RunError(what=reply.error, where=str(directory.path), hint="see what the run does now")
    return StageChange(choice, stage, reply.stages, undo)


def request_stop(directory: RunDirectory) -> bool:
    """Ask the worker to stop, by socket or else by signal. Returns whether there was a worker."""
    try:
        return send(directory, "stop", timeout=1.0).ok
    except RunError:
        return signal_holder(directory.lock)


def _exchange(
    address: str, holder: LockInfo | None, message: Mapping[str, object], timeout: float
) -> WorkerReply:
    """Send a command to the holder of the run's lock and read one line. The whole of it has `timeout` seconds and
    `_LONGEST_REPLY` bytes: what lies in a run's folder may come from anywhere."""
    deadline = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(address)
        if sys.platform == "linux" and (holder is None or _listener(connection) != holder.pid):
            raise ConnectionRefusedError("another process listens at its socket")
        connection.sendall(json.dumps(message).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            if (left := deadline - time.monotonic()) <= 0:
                raise TimeoutError("timed out")
            connection.settimeout(left)
            line += (part := connection.recv(_LONGEST_REPLY))
            if not part or len(line) > _LONGEST_REPLY:
                break
    return msgspec.json.decode(line, type=WorkerReply)


def _listener(connection: socket.socket) -> int:
    """Number of the process at the other end of a Unix socket (Linux)."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[0]
