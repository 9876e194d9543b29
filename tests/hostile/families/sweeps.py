"""Sweeps: the axes of a command line, and the file that holds a sweep's state; and the notes beside a run's log."""

from __future__ import annotations

from pathlib import Path

from app.runs.notes import read_notes
from engine.sweep.grammar import read_axes, settings_of, swept
from engine.sweep.sweep import SweepFolder
from tests.hostile.family import Family

_AXES = (
    b"online.L=1,2,4",
    b"online.k_scale=0.5..4:4log\nrun.seed=0..3",
    b"offline_select.lambda_diversity=0.1,1.0\nonline.probe_tokens=4..16:3",
    b"eval.ablations=[no_memory],[no_probing, random_vector]",
    b"online.rho=-1e-3..1e3:7",
)
_SWEEP = (
    b'{"version": 1, "name": "s", "created": 1.0, "status": "running", "specs": ["online.L=1,2"], '
    b'"axes": [{"field": "online.L", "values": [1, 2]}], "jobs": 1, "choose_on": "dev", "changes": {"run.name": "s"}, '
    b'"points": [{"number": 1, "run_id": "20261122-1", "setting": {"online.L": 1}}], "report": null}'
)
_NOTES = (
    b'{"what": "note", "time": 1.0, "author": "a", "id": "f0", "seq": 3, "item": "decision", "text": "odd"}\n'
    b'{"what": "mark", "time": 2.0, "author": "a", "seq": 3}\n{"what": "removed", "time": 3.0, "seq": 3, "id": "f0"}\n'
)


def _axes(data: bytes, folder: Path) -> object:
    specs = data.decode(errors="surrogateescape").split("\n")
    swept(specs)
    return settings_of(read_axes(specs))


def _sweep(data: bytes, folder: Path) -> object:
    """Where its runs are is read, too: beside the sweep, and nowhere else."""
    sweep = SweepFolder(folder / "sweep-1")
    sweep.path.mkdir()
    sweep.state.write_bytes(data)
    record = sweep.read()
    for point in [*record.points, *([record.report] if record.report else [])]:
        assert sweep.run(point).path.resolve().parent == folder.resolve()
    return record


def _notes(data: bytes, folder: Path) -> object:
    (folder / "notes.jsonl").write_bytes(data)
    return read_notes(folder)


FAMILIES = [
    Family("sweep axes", "text", lambda: _AXES, _axes),
    Family("sweep.json", "json", lambda: [_SWEEP], _sweep),
    Family("notes", "lines", lambda: [_NOTES], _notes),
]
