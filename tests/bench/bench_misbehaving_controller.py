"""The stage `slsm` with a controller whose server misbehaves at some turns: what was tried, what happened.

    python -m tests.bench.bench_misbehaving_controller

Writes results/misbehaving_controller.csv.
"""

from __future__ import annotations

import csv
import json
import os
import re
import tempfile
import zlib
from pathlib import Path
from typing import Any

from engine.events import ConversationAnswered, Event, ModeScored, StateUpdated
from engine.slsm import layout
from tests.engine.slsm.stage_run import run_slsm
from tests.misbehaving_server import FAULTS, misbehaving_server

RESULTS = Path(__file__).resolve().parent / "results" / "misbehaving_controller.csv"
KEY = "sk-very-secret-0123456789"
CONVERSATIONS = 16
TURN, LAST = "This turn. The user said:\n", "The user's last message:\n"
PLAN = {"mode": "verify", "reasons": ["as always"]}
OF_REPLY = {
    "empty": "",
    "no object": "[]",
    "other keys": '{"memory": ["all of it"], "plan": {"mode": "verify", "reasons": []}}',
    "an unknown id": json.dumps({"plan": PLAN, "changes": [
        {"operation": "change", "list": "facts", "id": "F99", "text": "x", "status": "", "evidence": ""}]}),
    "an id twice": json.dumps({"plan": PLAN, "changes": [
        {"operation": "resolve", "list": "facts", "id": "F1", "text": "", "status": "", "evidence": ""}] * 2}),
    "a text without end": json.dumps({"memory_text": "x" * 30_000, "mismatch": False, "plan": PLAN}),
}  # fmt: skip
"""Replies that come as completions, in a form that cannot be used."""
OF_EVOLUTION = ("missing cluster", "extra cluster", "NaN", "wrong types")


def said(body: dict[str, Any]) -> str:
    """The user's words that a request is about."""
    text = body["messages"][-1]["content"]
    marker = TURN if TURN in text else LAST
    return text.partition(marker)[2].partition("\n\n")[0]


def is_bad(text: str) -> bool:
    """Whether the fault strikes at these words."""
    return zlib.crc32(text.encode()) % 3 == 0


def reply(body: dict[str, Any]) -> str:
    """A fact with a quote, a longer memory, no conflict."""
    text = said(body)
    fact = f"The user said: {text}"
    changes = [{"operation": "add", "list": "facts", "id": "", "text": fact, "status": "", "evidence": text}]
    return json.dumps({
        "memory_changes": {"changes": changes, "plan": PLAN},
        "memory": {"memory_text": f"{fact} Request {zlib.crc32(str(body).encode())}.", "mismatch": False, "plan": PLAN},
        "conflicts": {"conflicts": []},
    }[body["response_format"]["json_schema"]["name"]])  # fmt: skip


def meet(fault: str) -> dict[str, Any]:
    """One row of the table."""

    def answer(body: dict[str, Any]) -> str:
        return OF_REPLY[fault] if fault in OF_REPLY and is_bad(said(body)) else reply(body)

    def fault_of(body: dict[str, Any]) -> str:
        return fault if fault not in OF_REPLY and is_bad(said(body)) else ""

    with tempfile.TemporaryDirectory() as folder, misbehaving_server(answer, (), fault_of) as server:
        openai = {"base_url": server.url, "api_key_env": "BENCH_KEY", "retries": 1,
                  "timeout": 0.5 if fault in ("hang", "drip") else 30.0}  # fmt: skip
        events = run_slsm(
            Path(folder), None, lambda: None, CONVERSATIONS, controller={"kind": "openai", "openai": openai},
            compare=["always", "on_detection"], compare_memory=["structured", "flat"], concurrency=8,
        )  # fmt: skip
        return {"fault": fault or "none", **row(events, Path(folder)), "requests": len(server.requests)}


def row(events: list[Event], folder: Path) -> dict[str, Any]:
    """What became of conversations, states and counts."""
    updates = {
        (event.conversation_id, event.memory_mode, event.turn): event
        for event in events
        if isinstance(event, StateUpdated)
    }
    failed = {key: event for key, event in updates.items() if event.failure}
    same = sum(
        content(event) == content(updates.get((*key[:2], key[2] - 1))) for key, event in failed.items()
    )
    moved = sum(
        content(event) != content(updates.get((*key[:2], key[2] - 1)))
        for key, event in updates.items()
        if not event.failure
    )
    answered = [event for event in events if isinstance(event, ConversationAnswered)]
    looked = {(event.conversation_id, event.memory_mode) for event in answered if event.detector_failure}
    files = [path for path in folder.rglob("*") if path.is_file()]
    summary = json.loads(layout.summary(folder).read_text())
    first = next(iter(failed.values()), None)
    return {
        "happened": re.split(r"(?<=\)): ", first.failure)[0] if first else "every turn was read",
        "conversations_answered": f"{len(answered)} of {4 * CONVERSATIONS}",
        "turns": len(updates),
        "turns_failed": len(failed),
        "state_as_before": f"{same} of {len(failed)}",
        "moved_on_otherwise": f"{moved} of {len(updates) - len(failed)}",
        "detections_failed": len(looked),
        "failures_in_summary": summary["controller_failures"],
        "failures_in_table": sum(
            e.failures for e in events if isinstance(e, ModeScored) and e.mode == "on_detection"
        ),
        "key_in_a_file": any(KEY.encode() in path.read_bytes() for path in files),
    }


def content(event: StateUpdated | None) -> object:
    """What a state says."""
    if event is None:
        return [], "", "proceed"
    return event.items, event.memory_text, event.plan_mode


def main() -> None:
    """Every fault once."""
    os.environ["BENCH_KEY"] = KEY
    rows = []
    for fault in ("", *(fault for fault in FAULTS if fault not in OF_EVOLUTION), *OF_REPLY):
        rows.append(meet(fault))
        print(" | ".join(str(value) for value in rows[-1].values()), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
