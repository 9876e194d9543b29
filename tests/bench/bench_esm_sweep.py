"""ESM and its controls over layer and k_scale on the dev split of a seed that is not reported: a CSV and a picture.

    python -m tests.bench.bench_esm_sweep [examples] [--set rho=0.5 ...]

Mines once a layer, then evaluates every scale with the same memory. Writes results/esm_sweep.{csv,png}.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path
from typing import Any

from engine.config.file import load_config
from engine.esm.evaluation.eval_stage import Evaluate
from engine.esm.library.memory_stage import BuildMemory
from engine.esm.library.select_stage import Select
from engine.esm.mining.mine_stage import Mine
from engine.events import Event, MethodEvaluated
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from tests.run_stage import run_stage

LAYERS = (0, 1, 2, 3)
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
METHODS = ("greedy", "esm", "random_vector", "mean_vector", "mean_vector_gated")
HERE = Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "configs" / "demo.yaml"


def final_rows(events: list[Event]) -> list[MethodEvaluated]:
    """Each method's last row."""
    return [event for event in events if isinstance(event, MethodEvaluated) and event.final]


def sweep(examples: int, overrides: list[str]) -> list[dict[str, Any]]:
    """One row a (layer, scale, method)."""
    table: list[dict[str, Any]] = []
    model = load_model(load_config(DEMO).model)
    fixed = [
        "run.seed=20",
        "task.eval_split=dev",
        f"task.eval_size={examples}",
        "online.record_null=false",
        *overrides,
    ]
    for layer in LAYERS:
        with tempfile.TemporaryDirectory() as folder:
            config = load_config(DEMO, [*fixed, f"offline_mine.candidate_layers=[{layer}]"])
            for stage in (Mine(), Select(), BuildMemory()):
                run_stage(stage, config, Path(folder), model)
            for scale in SCALES:
                table += _at_scale(layer, scale, fixed, Path(folder), model)
    return table


def _at_scale(
    layer: int, scale: float, fixed: list[str], folder: Path, model: LanguageModel
) -> list[dict[str, Any]]:
    more = [
        f"online.k_scale={scale}",
        "eval.methods=[greedy, esm]",
        "eval.ablations=[random_vector, mean_vector, mean_vector_gated]",
    ]
    config = load_config(DEMO, [*fixed, *more])
    for path in folder.glob("esm/eval/*/per_example.jsonl"):
        if path.parent.name != "greedy":
            path.unlink()
    rows = final_rows(run_stage(Evaluate(), config, folder, model))
    for row in rows:
        print(
            f"layer {layer} k_scale {scale:<5} {row.method:14} {row.accuracy:.3f} {row.mean_tokens:.1f}",
            flush=True,
        )
    return [
        {
            "layer": layer,
            "k_scale": scale,
            "method": row.method,
            "n": row.n,
            "accuracy": round(row.accuracy, 4),
            "mean_committed_tokens": round(row.mean_tokens, 2),
            "mean_probe_tokens": round(row.mean_probe_tokens, 2),
        }
        for row in rows
    ]


def draw(table: list[dict[str, Any]], path: Path) -> None:
    """One panel a layer: accuracy over k_scale, a line a method."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    panels = figure.subplots(1, len(LAYERS), sharey=True)
    for panel, layer in zip(panels, LAYERS, strict=True):
        for method, style in zip(METHODS, ("k:", "C0o-", "C1s--", "C2^-.", "C3v-."), strict=True):
            own = [row for row in table if row["layer"] == layer and row["method"] == method]
            panel.plot([r["k_scale"] for r in own], [r["accuracy"] for r in own], style, label=method)
        panel.set_xscale("log", base=2)
        panel.set_title(f"layer {layer}")
        panel.set_xlabel("k_scale")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy (dev)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(METHODS))
    FigureCanvasAgg(figure).print_png(str(path))


def main() -> None:
    """Sweep, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=int, nargs="?", default=200)
    parser.add_argument("--set", action="append", default=[], help="field=value of the configuration")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    table = sweep(options.examples, options.set)
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "esm_sweep.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    draw(table, options.out / "esm_sweep.png")


if __name__ == "__main__":
    main()
