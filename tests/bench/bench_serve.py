"""The steered server under load: tokens a second with levers on and off, the time to the first text, and many requests
whose clients vanish. See README.md.

    python tests/bench/bench_serve.py RUN [--requests 10000]

RUN: a run with a finished memory. The server runs in a worker process of its own, as `steer-tui serve` starts it.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from app.runs.client import prepare_serving, request_stop, start_worker
from engine.esm import layout
from engine.events import RequestAnswered, ServeLoad, ServeOpened
from engine.files import read_jsonl
from engine.run.directory import RunDirectory, find_runs
from engine.run.event_log import LogReader

CHAT = "/v1/chat/completions"


class Client:
    """Asks one server."""

    def __init__(self, url: str, key: str) -> None:
        self.port = int(url.rsplit(":", 1)[1].split("/")[0])
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def send(self, question: str, **fields: Any) -> http.client.HTTPConnection:
        """A request whose answer is not read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        body = {"messages": [{"role": "user", "content": question}], **fields}
        connection.request("POST", CHAT, json.dumps(body), self.headers)
        return connection


def throughput(client: Client, questions: list[str], clients: int, steer: dict[str, Any]) -> str:
    """A line of the table: all questions once, by so many clients, streamed."""
    first: list[float] = []
    tokens: list[int] = []
    left = iter(questions)
    guard = threading.Lock()

    def work() -> None:
        while True:
            with guard:
                question = next(left, None)
            if question is None:
                return
            began, seen = time.monotonic(), 0.0
            options = {"stream": True, "stream_options": {"include_usage": True}, "steer": steer}
            reply = client.send(question, **options).getresponse()
            for line in reply:
                if not line.startswith(b"data: {"):
                    continue
                piece = json.loads(line[6:])
                if not seen and piece["choices"] and piece["choices"][0]["delta"].get("content"):
                    seen = time.monotonic() - began
                if piece.get("usage"):
                    tokens.append(piece["usage"]["completion_tokens"])
            first.append(seen)

    began = time.monotonic()
    together(work, clients)
    seconds = time.monotonic() - began
    ordered = sorted(first)
    median, late = statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
    kind = "levers on (esm)" if steer["esm"] else "levers off"
    figures = f"{sum(tokens) / seconds:,.0f} | {len(tokens) / seconds:.1f} | {median:.3f} | {late:.3f}"
    return f"| {kind} | {clients} | {len(tokens)} | {figures} |"


def together(work: Any, clients: int) -> None:
    """Run `work` in so many threads."""
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def vanishing(client: Client, questions: list[str], requests: int, clients: int) -> dict[str, int]:
    """So many short requests, of whose clients one in three leaves at once or in the middle. What came of them."""
    numbers, guard = itertools.count(), threading.Lock()
    counts: dict[str, int] = dict.fromkeys(("answered", "left", "told to come again", "wrong"), 0)

    def work() -> None:
        while True:
            with guard:
                number = next(numbers)
            if number >= requests:
                return
            draw = random.Random(number)
            leaves = draw.random() < 1 / 3
            question = questions[number % len(questions)]
            outcome = "told to come again"
            while outcome == "told to come again":
                outcome = one(question, draw, leaves)
                with guard:
                    counts[outcome] += 1
                if outcome == "told to come again":
                    time.sleep(0.2)

    def one(question: str, draw: random.Random, leaves: bool) -> str:
        connection = client.send(question, max_tokens=8, stream=draw.random() < 0.5)
        if leaves:
            time.sleep(draw.random() * 0.2)
            connection.close()
            return "left"
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        if reply.status == 429:
            return "told to come again"
        return "answered" if reply.status == 200 and b"finish_reason" in text else "wrong"

    together(work, clients)
    return counts


def resident(pid: int) -> float:
    """MiB of a process."""
    line = next(
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1]) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run", help="a run with a finished memory")
    parser.add_argument("--questions", type=int, default=96)
    parser.add_argument("--requests", type=int, default=10_000)
    options = parser.parse_args()
    source = find_runs(options.run, Path("outputs"))[0]
    evaluated = list(read_jsonl(layout.evaluation(source.path, "esm") / "per_example.jsonl"))
    questions = [line["question"] for line in evaluated]
    with tempfile.TemporaryDirectory() as folder:
        directory = prepare_serving([source], ["serve.port=0", "serve.levers=[esm]", f"run.outputs={folder}"])
        measure(directory, questions, options.questions, options.requests)


def measure(directory: RunDirectory, questions: list[str], asked: int, requests: int) -> None:
    """Start the server and ask it."""
    worker = start_worker(directory)
    tail, events = LogReader(directory.events), []
    try:
        while not any(isinstance(event, ServeOpened) for event in events):
            events += [entry.event for entry in tail.poll()]
            time.sleep(0.1)
        opened = next(event for event in events if isinstance(event, ServeOpened))
        client = Client(opened.url, (directory.path / "serve" / "key").read_text().strip())
        throughput(client, questions[:8], 4, {"esm": True})
        print("| server | clients | requests | tokens/s | requests/s | first text, median s | 95% |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for clients in (1, 8, 32):
            part = (questions * -(-asked // len(questions)))[: asked if clients > 1 else asked // 3]
            for esm in (False, True):
                print(throughput(client, part, clients, {"esm": esm}), flush=True)
        vanishing(client, questions, requests // 10, 24)
        before, began = resident(worker.pid), time.monotonic()
        counts = vanishing(client, questions, requests, 24)
        seconds = time.monotonic() - began
        time.sleep(3)
        print(f"{requests} requests in {seconds:.0f} s: {counts}")
        print(f"memory of the worker {before:.0f} MiB before, {resident(worker.pid):.0f} MiB after")
        events += [entry.event for entries in iter(tail.poll, []) for entry in entries]
        ended = [event for event in events if isinstance(event, RequestAnswered)]
        outcomes = {
            kind: sum(e.outcome == kind for e in ended) for kind in ("answered", "vanished", "failed")
        }
        load = [event for event in events if isinstance(event, ServeLoad)][-1]
        print(f"the log: {outcomes}; at the end {load.in_flight} in flight, {load.waiting} waiting")
    finally:
        request_stop(directory)
        worker.wait(60)


if __name__ == "__main__":
    main()
