"""A small real evolution whose reflector is a server that misbehaves: what was tried, and what happened.

    python -m tests.bench.bench_misbehaving_server

Iteration 1 of 3 meets the fault with every request; the iterations before and after meet a server that behaves.
Writes results/misbehaving_server.csv.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from engine.config.config import Config
from engine.config.file import load_config
from engine.evolution import layout
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.history import read_history
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from tests.kill_and_resume import DEMO, SMALL_EVOLUTION
from tests.misbehaving_server import FAULTS, misbehaving_server
from tests.run_stage import run_stage

RESULTS = Path(__file__).resolve().parent / "results" / "misbehaving_server.csv"
KEY = "sk-very-secret-0123456789"
RETRIES, ATTEMPTS = 1, 2


def configured(url: str) -> Config:
    """Three iterations with a language model as reflector."""
    openai = f"{{base_url: '{url}', api_key_env: BENCH_KEY, timeout: 0.5, retries: {RETRIES}}}"
    return load_config(
        DEMO, [*SMALL_EVOLUTION, "evolution.reflector.kind=openai", f"evolution.reflector.openai={openai}"]
    )


def answer(body: dict[str, Any]) -> str:
    """A valid reply for exactly the clusters that are asked for."""
    names = body["response_format"]["json_schema"]["schema"]["properties"]["deltas"]["required"]
    return json.dumps({"deltas": dict.fromkeys(names, 0.0) | {"0": 0.3}, "summary": "Ends sooner."})


def meet(fault: str, clusters: Path, model: LanguageModel) -> dict[str, Any]:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as folder, misbehaving_server(answer, ["", *[fault] * 8]) as server:
        run = Path(shutil.copytree(clusters, Path(folder) / "run"))
        config = configured(server.url)
        error = ""
        one = config.model_copy(update={"evolution": config.evolution.model_copy(update={"iterations": 2})})
        begun = config.model_copy(update={"evolution": config.evolution.model_copy(update={"iterations": 1})})
        first = None
        for part in (begun, one, config):
            try:
                run_stage(Evolve(), part, run, model)
            except Exception as problem:
                error = f"{type(problem).__name__}: {problem}"
            if part is begun:
                first = read_history(layout.history(run)).iterations[0]
            else:
                server.script.clear()
        iterations = read_history(layout.history(run)).iterations
        leaked = any(KEY.encode() in path.read_bytes() for path in run.rglob("*") if path.is_file())
        return {
            "fault": fault or "none",
            "happened": error
            or iterations[1].aborted
            or f"a valid reply at attempt {iterations[1].attempts}",
            "requests": len(server.requests),
            "iterations_finished": len(iterations),
            "first_one_as_it_was": iterations[0] == first,
            "went_on_with": "the deltas before" if iterations[1].aborted else "new deltas",
            "key_in_a_file": leaked,
        }


def main() -> None:
    """Every fault once."""
    os.environ["BENCH_KEY"] = KEY
    model = load_model(configured("http://127.0.0.1:9/v1").evolution_model)
    with tempfile.TemporaryDirectory() as folder:
        run_stage(BuildClusters(), configured("http://127.0.0.1:9/v1"), Path(folder), model)
        rows = []
        for fault in ("", *FAULTS):
            rows.append(meet(fault, Path(folder), model))
            print(" | ".join(str(value) for value in rows[-1].values()), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
