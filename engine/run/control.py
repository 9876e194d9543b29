"""`control.sock`: the commands a worker takes while it runs, one JSON object a line, one reply each.

`{"command": "pause" | "continue" | "stop" | "stop_after" | "status"}` is answered by `{"ok": true, "status": {...}}`
or by `{"ok": false, "error": "..."}`. `{"command": "stage", "choice": "skip" | "last", "stage": NAME, "undo": BOOL}`
chooses about a stage; its answer names in `stages` those that it changes. Whatever arrives, the worker keeps running.
"""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import stat
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from engine.errors import SteerError
from engine.run.control_address import fits
from engine.run.gate import Gate
from engine.run.stage_choices import CHOICES, Choice

COMMANDS = ("pause", "continue", "stop", "stop_after", "stage", "status")
_GATE = {
    "pause": Gate.pause,
    "continue": Gate.unpause,
    "stop": Gate.stop,
    "stop_after": Gate.stop_after,
}
Status = Callable[[], Mapping[str, Any]]
Choose = Callable[[Choice, str, bool], Sequence[str]]
"""(choice, stage, undo) -> the stages that it changes. Raises RunError."""

_LONGEST_LINE = 1 << 16
_IDLE_SECONDS = 30.0
_FOLDER_PREFIX = "steer-tui-"


def answer(line: bytes, gate: Gate, status: Status, choose: Choose) -> dict[str, Any]:
    """Obey one line. Never raises for what the line holds."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {"ok": False, "error": "this line is not JSON"}
    command = message.get("command") if isinstance(message, dict) else None
    if not isinstance(command, str) or command not in COMMANDS:
        return {"ok": False, "error": f"expected {{'command': one of {', '.join(COMMANDS)}}}"}
    if command == "stage":
        return _chosen(message, status, choose)
    if command in _GATE:
        _GATE[command](gate)
    return {"ok": True, "status": dict(status())}


def _chosen(message: Mapping[str, Any], status: Status, choose: Choose) -> dict[str, Any]:
    choice, stage, undo = message.get("choice"), message.get("stage"), message.get("undo", False)
    if choice not in CHOICES or not isinstance(stage, str) or not isinstance(undo, bool):
        return {"ok": False, "error": f"expected 'choice': one of {', '.join(CHOICES)}, and a 'stage'"}
    try:
        return {"ok": True, "stages": list(choose(choice, stage, undo)), "status": dict(status())}
    except SteerError as error:
        return {"ok": False, "error": error.what, "mend": error.hint}


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64
    block_on_close = False

    def __init__(self, address: str, gate: Gate, status: Status, choose: Choose) -> None:
        self.gate, self.status, self.choose = gate, status, choose
        super().__init__(address, _Conversation)

    def server_bind(self) -> None:
        # The mode must be there before anyone can connect, hence the mask and not a chmod alone.
        mask = os.umask(0o177)
        try:
            super().server_bind()
        finally:
            os.umask(mask)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no concern of the worker's."""


class _Conversation(socketserver.StreamRequestHandler):
    timeout = _IDLE_SECONDS

    def handle(self) -> None:
        server = cast(_Server, self.server)
        while line := self.rfile.readline(_LONGEST_LINE):
            if not line.endswith(b"\n") and len(line) == _LONGEST_LINE:
                self._reply({"ok": False, "error": "this line is too long"})
                return
            self._reply(answer(line, server.gate, server.status, server.choose))

    def _reply(self, reply: Mapping[str, Any]) -> None:
        self.wfile.write(json.dumps(reply).encode() + b"\n")


class ControlServer:
    """The socket and the thread behind it. The caller holds the run's lock: whatever lies at `path` is stale."""

    def __init__(self, path: Path, gate: Gate, status: Status, choose: Choose) -> None:
        """Listen at `path`. Raises OSError where the file system or the system has no room for a socket."""
        self._path = path
        self._folder: Path | None = None
        _remove_stale(path)
        self._server = self._listen(gate, status, choose)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="control", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self._server.shutdown()
        self._server.server_close()
        self._remove()

    def _listen(self, gate: Gate, status: Status, choose: Choose) -> _Server:
        if fits(str(self._path)):
            # Some file systems (network mounts, vfat) know no sockets: then a linked one does, as below.
            with suppress(OSError):
                return _Server(str(self._path), gate, status, choose)
        self._folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        try:
            server = _Server(str(self._folder / "control.sock"), gate, status, choose)
            self._path.symlink_to(self._folder / "control.sock")
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return server

    def _remove(self) -> None:
        with suppress(OSError):
            self._path.unlink()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _remove_stale(path: Path) -> None:
    """Remove the socket of a worker that was killed, with the folder its link leads to."""
    with suppress(OSError):
        target = Path(os.readlink(path))
        if target.parent.name.startswith(_FOLDER_PREFIX):
            _remove_socket(target)
            target.parent.rmdir()
    _remove_socket(path)


def _remove_socket(path: Path) -> None:
    with suppress(OSError):
        mode = path.lstat().st_mode
        if stat.S_ISSOCK(mode) or stat.S_ISLNK(mode):
            path.unlink()
