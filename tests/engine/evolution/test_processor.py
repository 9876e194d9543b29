"""The generated processor: alone in a clean process, on SGLang's way, and inside generation."""

from __future__ import annotations

import json
import pickle
import runpy
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LogitsProcessor

from engine.config.models.model import ModelSection
from engine.errors import DataError
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap
from engine.evolution.deltas import Deltas
from engine.evolution.processor import (
    _run_text,
    expected_row,
    generate_processor,
    load_logits_processor,
    processor_source,
    sglang_processor_string,
)
from engine.evolution.processors.check import _environment, check_processor
from engine.lm.loading.load import EMBEDDED, load_model
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.same import assert_literal, assert_same
from tests.exactly import exactly
from tests.literal_model import LiteralModel
from tests.real_sglang import ENVIRONMENT, PYTHON, needs_sglang

DELTAS: Deltas = {"0": -0.35, "1": 0.1, "2": 1e-7, "3": -2.5, "4": 3.0}


def some_clusters(vocab_size: int, seed: int = 0) -> ClusterMap:
    """Random clusters; the last rows are padding."""
    ids = np.random.default_rng(seed).integers(0, len(DELTAS), vocab_size).astype(np.uint8)
    ids[-7:] = NO_CLUSTER
    return ClusterMap(ids, len(DELTAS), "a vocabulary")


@pytest.fixture(scope="module")
def clusters() -> ClusterMap:
    return some_clusters(575)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory, clusters: ClusterMap) -> Path:
    path = tmp_path_factory.mktemp("processor") / "processor.py"
    generate_processor(path, clusters, DELTAS)
    return path


def literal_row(clusters: ClusterMap, deltas: Deltas) -> list[float]:
    """What the spec says, token by token."""
    return [0.0 if c == NO_CLUSTER else deltas[str(c)] for c in clusters.ids.tolist()]


def test_checked_row_is_the_literal_one(generated: Path, clusters: ClusterMap) -> None:
    literal = np.array(literal_row(clusters, DELTAS), dtype=np.float32)
    np.testing.assert_array_equal(check_processor(generated, 575), literal)
    np.testing.assert_array_equal(expected_row(clusters, DELTAS), literal)


def test_file_names_its_deltas_and_nothing_of_this_repository(generated: Path) -> None:
    text = generated.read_text()
    assert '    "3": -2.5,\n' in text
    assert "VOCAB_SIZE = 575\n" in text
    assert "import engine" not in text
    assert "from engine" not in text


def test_large_vocabularies_stay_small() -> None:
    source = processor_source(some_clusters(151_936), DELTAS)
    assert len(source) < 100_000, "five random clusters: 2.3 bits a row"
    assert max(map(len, source.splitlines())) <= 120


_ELSEWHERE = """
import json, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("engine", "app", "screens", "tests", "processor"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
import dill
# As sglang.srt.sampling.custom_logit_processor.CustomLogitProcessor.from_str does.
processor = dill.loads(bytes.fromhex(json.loads(sys.stdin.read())["callable"]))()
import torch
print(json.dumps(processor(torch.zeros(2, 575), [None, None])[1].tolist()))
"""


def test_string_for_sglang_decodes_where_nothing_of_ours_is(
    generated: Path, clusters: ClusterMap, tmp_path: Path
) -> None:
    """A class pickled by reference would ask the server for a module it does not have."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _ELSEWHERE],
        input=sglang_processor_string(generated),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=True,
    )
    np.testing.assert_array_equal(np.float32(json.loads(done.stdout)), expected_row(clusters, DELTAS))


_IN_SGLANG = """
import json, sys
import torch
from sglang.srt.sampling.custom_logit_processor import CustomLogitProcessor
processor = CustomLogitProcessor.from_str(sys.stdin.read())
assert isinstance(processor, CustomLogitProcessor)
print(json.dumps(processor(torch.zeros(2, 575), [None, None])[1].tolist()))
"""


@pytest.mark.sglang
@needs_sglang
def test_real_sglang_decodes_its_own_subclass(generated: Path, clusters: ClusterMap) -> None:
    done = subprocess.run(
        [PYTHON, "-c", _IN_SGLANG],
        input=sglang_processor_string(generated),
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=300,
        check=True,
    )
    added = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_array_equal(np.float32(added), expected_row(clusters, DELTAS))


# ---------------------------------------------------------------- generation


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float64")


def requests_of(model: TransformersModel) -> list[Request]:
    questions = ["Tom has 12 apples. He buys 5 more.", "Forward.", "How many are left now?"]
    return [
        Request(model.tokenizer.encode_chat(question), Sampling(40, temperature), seed)
        for seed, question in enumerate(questions)
        for temperature in (0.0, 1.0)
    ]


def test_generation_equals_a_loop_that_adds_deltas(
    model: TransformersModel, generated: Path, clusters: ClusterMap
) -> None:
    row = literal_row(clusters, DELTAS)

    def slow(written: Sequence[Sequence[int]], logits: Any) -> Any:
        steered = logits.clone()
        for scores in steered:
            for token, delta in enumerate(row):
                scores[token] += delta
        return steered

    literal = LiteralModel(model.network.model, list(model.network.layers), model.tokenizer, model.info)
    requests = requests_of(model)
    found = model.generate(requests, logits_processor=load_logits_processor(generated))
    assert_literal(found, literal, requests, slow)
    plain = model.generate(requests)
    assert [f.tokens for f in found] != [p.tokens for p in plain]


def test_zero_deltas_change_nothing(model: TransformersModel, clusters: ClusterMap, tmp_path: Path) -> None:
    path = tmp_path / "processor.py"
    generate_processor(path, clusters, dict.fromkeys(DELTAS, 0.0))
    requests = requests_of(model)
    found = model.generate(requests, logits_processor=load_logits_processor(path))
    assert_same(found, model.generate(requests))


def test_two_files_side_by_side(generated: Path, clusters: ClusterMap, tmp_path: Path) -> None:
    """The best and the current processor are loaded at once; neither may take the other's table."""
    other = tmp_path / "processor_best.py"
    opposite = {name: -delta for name, delta in DELTAS.items()}
    generate_processor(other, clusters, opposite)
    logits = torch.randn(3, 575)
    one, two = load_logits_processor(generated), load_logits_processor(other)
    assert torch.equal(_tensor(one([[]] * 3, logits)), logits + torch.tensor(expected_row(clusters, DELTAS)))
    assert torch.equal(
        _tensor(two([[]] * 3, logits)), logits + torch.tensor(expected_row(clusters, opposite))
    )


def test_transformers_own_generation_takes_it(generated: Path) -> None:
    transformers = pytest.importorskip("transformers")
    loaded: Any = runpy.run_path(str(generated))["ClusterDeltaLogitsProcessor"]()
    assert isinstance(loaded, transformers.LogitsProcessor)
    network: Any = transformers.AutoModelForCausalLM.from_pretrained(EMBEDDED)
    prompt = load_model(ModelSection(device="cpu")).tokenizer.encode_chat("Tom has 12 apples.")
    ours = load_model(ModelSection(device="cpu")).generate(
        [Request(prompt, Sampling(20))], logits_processor=loaded
    )[0]
    theirs = network.generate(
        torch.tensor([prompt]), max_new_tokens=20, do_sample=False, logits_processor=[loaded]
    )
    assert theirs[0, len(prompt) :].tolist() == ours.tokens


def test_it_travels_to_another_process(generated: Path) -> None:
    """vLLM's workers get it pickled; they know neither the file nor its class."""
    loaded = load_logits_processor(generated)
    logits = torch.zeros(1, 575)
    again: Any = pickle.loads(pickle.dumps(loaded))
    assert torch.equal(again([[]], logits), _tensor(loaded([[]], logits)))


def _tensor(found: object) -> torch.Tensor:
    assert isinstance(found, torch.Tensor)
    return found


# ---------------------------------------------------------------- what must not pass


def test_other_lengths_never_raise_in_a_server(generated: Path) -> None:
    processor: Any = load_logits_processor(generated)
    row = processor([[]], torch.zeros(1, 575))[0]
    assert torch.equal(processor([[]], torch.zeros(1, 500))[0], row[:500])
    wide = processor([[]], torch.zeros(1, 600))[0]
    assert torch.equal(wide[:575], row)
    assert not wide[575:].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_logits_keep_their_kind_and_every_row_gets_the_deltas(
    clusters: ClusterMap, dtype: torch.dtype
) -> None:
    """Both classes of the file, without a check of it."""
    names: dict[str, Any] = {"__name__": "processor"}
    exec(processor_source(clusters, DELTAS), names)
    row = torch.tensor(literal_row(clusters, DELTAS))
    assert torch.equal(names["added_to_logits"](), row)
    logits = torch.full((2, 575), 0.5, dtype=dtype)
    for found in (
        names["ClusterDeltaProcessor"]()(logits, [None, None]),
        names["ClusterDeltaLogitsProcessor"]()([[], []], logits),
    ):
        assert found.dtype == dtype and found is not logits
        assert torch.equal(found, logits + row.to(dtype))
    assert (logits == 0.5).all(), "what was given stays as it is"


def test_its_classes_are_those_of_the_libraries_that_are_there(
    clusters: ClusterMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one is missing, or does not load on this machine, the class stands alone. Where SGLang's is, is as in
    `_IN_SGLANG`."""
    theirs = type("CustomLogitProcessor", (), {})
    for name in ("sglang", "sglang.srt.sampling.custom_logit_processor"):
        module = ModuleType(name)
        module.__spec__ = spec_from_loader(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(module, theirs.__name__, theirs, raising=False)
    names: dict[str, Any] = {"__name__": "processor"}
    exec(processor_source(clusters, DELTAS), names)
    assert names["ClusterDeltaLogitsProcessor"].__bases__ == (LogitsProcessor,)
    assert names["ClusterDeltaProcessor"].__bases__ == (theirs,)
    base = names["_base"]
    assert base("json", "json", "JSONDecoder") is json.JSONDecoder
    assert base("no_such_library", "json", "JSONDecoder") is object
    assert base("json", "json.no_such_module", "JSONDecoder") is object
    assert base("json", "json", "NoSuchClass") is object


ELSE = "it does something else to other logits"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("VOCAB_SIZE = 575", "VOCAB_SIZE = 5 75", "SyntaxError: …"),
        ('"3": -2.5', '"3": float("nan")', f"…transformers: {ELSE}; it adds numbers that are not finite"),
        ('"3": -2.5', '"3": -2.4999', "115 of 575 tokens do not get the delta of their cluster"),
        ("return _steered(scores)", "return scores * 2", f"transformers: {ELSE}"),
        (
            "return _steered(logits)",
            "return logits.add_(1)",
            f"SGLang: {ELSE}; SGLang, decoded: {ELSE}; transformers: {ELSE}",
        ),
        (
            "import torch\n",
            "import engine.errors\nimport torch\n",
            "ModuleNotFoundError: the processor must not need engine",
        ),
        *(
            ("import torch\n", f"import {part}\n", f"ModuleNotFoundError: the processor must not need {part}")
            for part in ("app", "screens")
        ),
        (
            "return _steered(logits)",
            "return _steered(2 * logits)",
            f"SGLang: {ELSE}; SGLang, decoded: {ELSE}",
        ),
        (
            "return _steered(scores)",
            "return torch.cat([_steered(scores[:1]), scores[1:]])",
            f"transformers: {ELSE}",
        ),
        (
            "return _steered(scores)",
            "return torch.from_numpy(_steered(scores).numpy())",
            "TypeError: …BFloat16",
        ),
        ("return _steered(scores)", "scores[0]\n        return _steered(scores)", "IndexError: …"),
        ("import torch\n", "import os\nos._exit(3)\n", "it ended with code 3"),
        ("import torch\n", "import os\nos._exit(0)\n", "it ended with code 0"),
        (
            "import torch\n",
            "import sys\nprint('{}')\nsys.stderr.write('it broke\\n \\n')\nraise SystemExit(3)\n",
            "it broke",
        ),
        ("import torch\n", "import time\ntime.sleep(100)\n", "it did not end within 1 seconds"),
    ],
)
def test_unfit_processors_are_found_out(
    generated: Path, clusters: ClusterMap, tmp_path: Path, old: str, new: str, told: str
) -> None:
    broken = tmp_path / "processor.py"
    text = generated.read_text()
    assert old in text
    broken.write_text(text.replace(old, new))
    seconds = 1.0 if "sleep" in new else 300.0
    with pytest.raises(
        DataError,
        match=exactly(
            f"this processor is not fit for use: {told} (…/processor.py): generate it again from its deltas and "
            "the clusters "
            "of this model"
        ),
    ):
        check_processor(broken, 575, expected_row(clusters, DELTAS), seconds)


def test_a_processor_may_print_and_be_named_from_where_one_stands(
    generated: Path, clusters: ClusterMap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "processor.py").write_text(generated.read_text() + "\nprint('{}')\n")
    monkeypatch.chdir(tmp_path)
    check_processor(Path("processor.py"), 575, expected_row(clusters, DELTAS))


@pytest.mark.parametrize("rows", [574, 576])
def test_wrong_length_is_found_out(generated: Path, rows: int) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            f"this processor is not fit for use: it has 575 cluster ids for {rows} rows of logits (…/processor.py): "
            "generate it again from its deltas and the clusters of this model"
        ),
    ):
        check_processor(generated, rows)


@pytest.mark.parametrize(
    ("width", "added"),
    [(2, [0.5, -1.0]), (3, [0.5, -1.0, 0.5]), (5, [0.5, -1.0, 0.5, 0.0, 0.0])],
    ids=["narrower", "as wide", "wider"],
)
def test_logits_of_another_width_get_what_there_is_and_zeros(width: int, added: list[float]) -> None:
    """Three tokens of the clusters 0, 1, 0: an error would end the server that asks."""
    clusters = ClusterMap(np.array([0, 1, 0], np.uint8), 2, "a vocabulary")
    module = _run_text(processor_source(clusters, {"0": 0.5, "1": -1.0}), "processor.py")
    assert module.ClusterDeltaProcessor()(torch.zeros(2, width)).tolist() == [added] * 2
    assert module.ClusterDeltaLogitsProcessor()(None, torch.ones(1, width)).tolist() == [
        [1 + one for one in added]
    ]


def test_a_failed_check_leaves_the_old_file(
    generated: Path, clusters: ClusterMap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "processor.py"
    path.write_text(generated.read_text())
    broken = tmp_path / "template.py"
    broken.write_text(generated.read_text().replace("def _steered", "raise RuntimeError('no')\ndef _steered"))
    monkeypatch.setattr("engine.evolution.processor.TEMPLATE", broken)
    with pytest.raises(
        DataError,
        match=exactly(
            "this processor is not fit for use: RuntimeError: no (…/processor.py): "
            "generate it again from its deltas and the clusters of this model"
        ),
    ):
        generate_processor(path, clusters, DELTAS)
    assert path.read_text() == generated.read_text()


def test_a_program_is_run_in_a_clean_process_once(
    clusters: ClusterMap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[int] = []
    monkeypatch.setattr("engine.evolution.processor._CHECKED", set())
    monkeypatch.setattr(
        "engine.evolution.processor.check_processor", lambda _, size, row: checks.append(size)
    )
    path = tmp_path / "processor.py"
    generate_processor(path, clusters, DELTAS)
    generate_processor(path, clusters, {**DELTAS, "3": 1.5})
    assert checks == [575] and '"3": 1.5' in path.read_text()
    generate_processor(path, some_clusters(600), DELTAS)
    assert checks == [575, 600]


def test_secrets_do_not_reach_the_clean_process(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    spy = tmp_path / "processor.py"
    seen = tmp_path / "seen"
    spy.write_text(
        generated.read_text().replace(
            "import torch\n",
            f"import os\nimport torch\nopen({str(seen)!r}, 'w').write(repr(dict(os.environ)) + os.getcwd())\n",
        )
    )
    check_processor(spy, 575)
    assert "secret" not in seen.read_text()
    assert str(Path.cwd()) not in seen.read_text().replace(str(Path(sys.executable).parent), "")


def test_the_clean_process_gets_where_programs_are_and_little_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, no graphics card, one thread."""
    monkeypatch.setattr(
        "os.environ",
        {"PATH": "/bin", "HOME": "/home/me", "OPENAI_API_KEY": "sk-secret", "OMP_NUM_THREADS": "9"},
    )
    own = {"HOME": "/tmp/x", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    assert _environment("/tmp/x") == {"PATH": "/bin", **own}
    monkeypatch.setattr("os.environ", {"LD_LIBRARY_PATH": "/lib", "SYSTEMROOT": "C", "HOME": "/home/me"})
    assert _environment("/tmp/x") == {"LD_LIBRARY_PATH": "/lib", "SYSTEMROOT": "C", **own}


def test_deltas_of_other_clusters_are_refused(clusters: ClusterMap) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "these are not deltas: missing clusters: 4 (deltas of the processor): give one finite number for each"
            " of the clusters 0 to 4"
        ),
    ):
        processor_source(clusters, dict.fromkeys(list(DELTAS)[:-1], 0.0))
