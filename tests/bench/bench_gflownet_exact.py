"""How near on-policy training comes to the exact distribution, each policy on each small graph.

`python -m tests.bench.bench_gflownet_exact` writes results/gflownet_exact.csv.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from engine.files import csv_text, write_atomic
from tests.engine.gflownet.sampler.test_exactness import KINDS
from tests.engine.gflownet.sampler.test_on_policy import trained

RESULTS = Path(__file__).parent / "results" / "gflownet_exact.csv"

if __name__ == "__main__":
    rows = [{"policy": kind, **asdict(found)} for kind in KINDS for found in trained(kind)]
    write_atomic(RESULTS, csv_text(rows))
    print(RESULTS.read_text())
