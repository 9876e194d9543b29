"""`generate-processor`: deltas and clusters become `processor.py`, a file that needs nothing of this repository
(spec Evolution 2.5)."""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap
from engine.evolution.deltas import Deltas, check_deltas
from engine.evolution.processors.check import check_processor
from engine.files import write_atomic
from engine.lm.protocol import LogitsProcessor

TEMPLATE = Path(__file__).parent / "processors" / "template.py"
_BEGIN, _END = "# ---- values\n", "# ---- end of values\n"
_LINE = 96
"""Characters of packed ids on a line."""


def expected_row(clusters: ClusterMap, deltas: Deltas) -> NDArray[np.float32]:
    """What a processor of these deltas adds to each logit: (vocab_size,)."""
    table = np.zeros(NO_CLUSTER + 1, dtype=np.float32)
    for cluster, delta in deltas.items():
        table[int(cluster)] = delta
    return table[clusters.ids]


def processor_source(clusters: ClusterMap, deltas: Deltas) -> str:
    """Text of `processor.py`. Raises DataError for deltas of other clusters."""
    deltas = check_deltas(deltas, clusters.names, "deltas of the processor")
    packed = base64.b64encode(zlib.compress(clusters.ids.tobytes(), 9)).decode()
    lines = [packed[start : start + _LINE] for start in range(0, len(packed), _LINE)]
    values = [
        f"VOCAB_SIZE = {clusters.vocab_size}",
        "DELTAS = {",
        *(f"    {json.dumps(cluster)}: {delta!r}," for cluster, delta in deltas.items()),
        "}",
        "PACKED_CLUSTER_IDS = (",
        *(f'    "{line}"' for line in lines),
        ")",
    ]
    head, rest = TEMPLATE.read_text(encoding="utf-8").split(_BEGIN)
    tail = rest.split(_END)[1]
    return f"{head}{_BEGIN}" + "\n".join(values) + f"\n{_END}{tail}"


_CHECKED: set[str] = set()
"""Programs, with all deltas 0, that passed `check_processor` in this process."""


def generate_processor(path: Path, clusters: ClusterMap, deltas: Deltas) -> None:
    """Write `path`, after `check_processor` where the program is new to this process, so that the file is always
    usable: other deltas are other numbers in the same program. Raises DataError."""
    source = processor_source(clusters, deltas)
    if path.is_file() and path.read_text(encoding="utf-8") == source:
        return  # only checked text is ever written
    program = processor_source(clusters, dict.fromkeys(clusters.names, 0.0))
    if program not in _CHECKED:
        with tempfile.TemporaryDirectory(prefix="processor-") as folder:
            candidate = Path(folder) / "processor.py"
            candidate.write_text(source, encoding="utf-8")
            check_processor(candidate, clusters.vocab_size, expected_row(clusters, deltas))
        _CHECKED.add(program)
    write_atomic(path, source)


def sglang_processor_string(path: Path) -> str:
    """What goes to an SGLang server as `custom_logit_processor`: JSON with a hex pickle, as the server's
    `CustomLogitProcessor.from_str` reads it. It decodes where neither this repository nor `path` is."""
    source = path.read_text(encoding="utf-8")
    return cast("str", _run_text(source, str(path)).ClusterDeltaProcessor.to_str())


def load_logits_processor(path: Path) -> LogitsProcessor:
    """A generated file, for `LanguageModel.generate`. Its code is run."""
    return LoadedProcessor(path.read_text(encoding="utf-8"), str(path))


class LoadedProcessor:
    """`LogitsProcessor` of a generated file. It travels to another process as the file's text, since its class can be
    imported nowhere."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._call: LogitsProcessor = _run_text(text, where).ClusterDeltaLogitsProcessor()

    def __call__(self, written: Sequence[Sequence[int]], logits: object) -> object:
        """Apply the file's processor."""
        return self._call(written, logits)

    def __reduce__(self) -> tuple[type[LoadedProcessor], tuple[str, str]]:
        return LoadedProcessor, (self._text, self._where)


def _run_text(text: str, where: str) -> ModuleType:
    """The file as a module that nobody can import, so that several may be loaded side by side."""
    module = ModuleType("processor")
    module.__file__ = where
    try:
        exec(compile(text, where, "exec"), module.__dict__)
    except Exception as error:  # a file from elsewhere may raise anything
        raise DataError(
            what=f"this processor cannot be loaded: {type(error).__name__}: {error}",
            where=where,
            hint="generate it again from its deltas",
        ) from error
    return module
