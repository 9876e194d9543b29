"""A server that answers what the hub's library asks when it fetches a data set: names of files, then the files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "a" * 40


@dataclass
class HubStandIn:
    """`data_sets`: files by name of the data set and path; `requests`: what was asked, as `METHOD path`."""

    url: str
    data_sets: Mapping[str, Mapping[str, bytes]]
    requests: list[str] = field(default_factory=list)


@contextmanager
def hub_stand_in(data_sets: Mapping[str, Mapping[str, bytes]]) -> Iterator[HubStandIn]:
    """Serves on 127.0.0.1 until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.requests.append(f"{self.command} {self.path}")
            body = self._found()
            status = 404 if body is None else 200
            self.send_response(status)
            self.send_header("Content-Length", str(len(body or b"")))
            self.send_header("ETag", f'"{hashlib.sha1(body or b"").hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            if body is None:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body or b"")

        do_HEAD = do_GET

        def _found(self) -> bytes | None:
            path = self.path.partition("?")[0]
            for name, files in hub.data_sets.items():
                if path == f"/api/datasets/{name}/revision/main":
                    siblings = [{"rfilename": file} for file in files]
                    return json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()
                if path.startswith(f"/api/datasets/{name}/tree/"):
                    tree = [
                        {"type": "file", "path": file, "size": len(body), "oid": "0"}
                        for file, body in files.items()
                    ]
                    return json.dumps(tree).encode()
                resolved = f"/datasets/{name}/resolve/{COMMIT}/"
                if path.startswith(resolved):
                    return files.get(path.removeprefix(resolved))
            return None

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = HubStandIn(f"http://127.0.0.1:{server.server_port}", data_sets)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
