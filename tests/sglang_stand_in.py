"""Stands in for an SGLang server: a real process with its `/health` and `/generate`, over transformers.

`python -m tests.sglang_stand_in --model-path M --host H --port P [--enable-custom-logit-processor] [--fault F]`. The
custom processor is decoded from the request as SGLang decodes it, and applied. What is said here of SGLang was seen of
0.5.23 (tests/engine/lm/sglang/test_real.py). Faults: crash-at-start, never-healthy,
hang-on-health, slow-health, ignore-sigterm, crash-once=FILE (dies after two answers; the file remembers that it has),
hang-once=FILE (the same, but it stays and is silent), echo (no model: each question's own tokens, after a while;
hang-once answers so, too), always-500, abort, refuse, garbage, leave-a-child=FILE and
leave-a-daemon=FILE (start a process, the second in a session of its own, and write its pid), scheduler (start one that,
as SGLang's, is to end by the server's word alone), tell-environment.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.stand_in_model import SOCKET, Model, ModelApart

gc.set_threshold(50_000)  # the libraries are imported in two thirds of the time
arguments = argparse.ArgumentParser()
arguments.add_argument("--model-path", required=True)
arguments.add_argument("--host", default="127.0.0.1")
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--enable-custom-logit-processor", action="store_true")
arguments.add_argument("--fault", default="")
chosen = arguments.parse_args()
fault, _, fault_file = chosen.fault.partition("=")
answered = 0
turn = threading.Lock()
loaded = threading.Event()

print(f"stand-in for SGLang on {chosen.host}:{chosen.port}", flush=True)
if fault == "crash-at-start":
    print("RuntimeError: no such model file", flush=True)
    sys.exit(3)
if fault == "ignore-sigterm":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fault in ("leave-a-child", "leave-a-daemon"):
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleep, start_new_session=fault == "leave-a-daemon")
    Path(fault_file).write_text(str(child.pid))
if fault == "scheduler":
    scheduler = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    def end_in_order(*signal_and_frame: object) -> None:
        time.sleep(0.5)  # requests would be drained now
        print("Subprocess scheduler_0 crashed" if scheduler.poll() else "Finished server process", flush=True)
        scheduler.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end_in_order)
if fault == "tell-environment":
    print("environment:", *sorted(os.environ), flush=True)


@lru_cache(maxsize=1)
def load_once() -> None:
    """In the background: like SGLang it listens before it is healthy. Faults that answer nothing need no model."""
    wanted = model if fault in ("", "crash-once") else lambda: None
    threading.Thread(target=lambda: (wanted(), loaded.set()), daemon=True).start()


@lru_cache(maxsize=1)
def model() -> Model | ModelApart:
    return (ModelApart if SOCKET in os.environ else Model)(chosen.model_path)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if fault in ("hang-on-health", "slow-health"):
            time.sleep(600 if fault == "hang-on-health" else 1.2)
        if fault != "never-healthy":
            load_once()
        self.reply(200 if loaded.is_set() else 503, {})

    def do_POST(self) -> None:
        global answered
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with turn:
            if fault == "crash-once" and answered == 2 and not Path(fault_file).exists():
                Path(fault_file).touch()
                print("CUDA error: device-side assert triggered", flush=True)
                os._exit(1)
            if fault == "hang-once" and answered == 2 and not Path(fault_file).exists():
                Path(fault_file).touch()
                time.sleep(600)
            if fault == "always-500":
                self.reply(500, {"error": "out of memory"})
                return
            if fault == "abort":
                finish = {"type": "abort", "message": "scheduler gave up"}
                self.reply(200, {"text": "", "output_ids": [5], "meta_info": {"finish_reason": finish}})
                return
            if fault == "refuse":
                self.reply(
                    400, {"error": {"message": "The input is longer than the model's context length."}}
                )
                return
            if fault == "garbage":
                self.reply(200, {"nothing": "of use"})
                return
            if "custom_logit_processor" in body and not chosen.enable_custom_logit_processor:
                self.reply(
                    400,
                    {"error": {"message": "The server is not configured to enable custom logit processor."}},
                )
                return
            self.reply(200, self.generate(body) if fault in ("", "crash-once") else self.echo(body))
            answered += 1

    def echo(self, body: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.2)
        print(f"answered {len(body['input_ids'])} tokens", flush=True)
        finish = {"finish_reason": {"type": "length"}}
        return {"text": "said again", "output_ids": body["input_ids"], "meta_info": finish}

    def generate(self, body: dict[str, Any]) -> dict[str, Any]:
        reply = model().ask(body)
        print(f"answered {len(reply['output_ids'])} tokens", flush=True)
        return reply

    def reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...


ThreadingHTTPServer((chosen.host, chosen.port), Handler).serve_forever()
