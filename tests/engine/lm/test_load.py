"""Loading: what is identified, and what is said when it cannot be done."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.utils import logging as hf_logging

from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm import fingerprint as fingerprints
from engine.lm.loading import cpu_dtype, pretrained
from engine.lm.loading.device import memory_errors, pick_device, pick_dtype
from engine.lm.loading.load import EMBEDDED, embedded_folder, load_model, model_path
from engine.lm.loading.pretrained import (
    _attention,
    _check_complete,
    _eos_ids,
    _explained,
    library_errors,
    load_text_side,
    parameter_count,
    quiet,
)
from engine.lm.transformers import model as models
from engine.lm.transformers.model import TransformersModel
from tests.exactly import exactly
from tests.tiny_models import EXTRA_EOS


@pytest.fixture
def copied(folder: Callable[[str], Path], tmp_path: Path) -> Path:
    """A tiny model's folder, to be spoilt."""
    return Path(shutil.copytree(folder("qwen2"), tmp_path / "model"))


AGAIN = "copy or download the model again: config.json and weights must belong together"


def load(path: Path | str, **changes: str) -> TransformersModel:
    return TransformersModel.load(str(path), **{"device": "cpu", **changes})  # type: ignore[arg-type]


def test_info(copied: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = load_model(
        ModelSection(backend="transformers", path=str(copied), device="cpu", max_num_seqs=4, threads=1)
    )
    info = model.info
    assert (info.name, info.backend, info.device, info.dtype) == (
        str(copied),
        "transformers",
        "cpu",
        "float32",
    )
    assert (info.num_layers, info.hidden_size) == (3, 32)
    assert info.parameters == sum(
        tensor.numel() for tensor in load_file(copied / "model.safetensors").values()
    )
    save_file({"more": torch.zeros(2, 3)}, copied / "model-2.safetensors")
    assert parameter_count(str(copied)) == info.parameters + 6, "of all files, without loading them"
    for weights in copied.glob("*.safetensors"):
        weights.unlink()
    torch.save({"some": torch.zeros(2, 3)}, copied / "pytorch_model.bin")
    assert parameter_count(str(copied)) == 0, "not known without loading them"
    assert len(info.fingerprint) == 64
    assert model.tokenizer.eos_token_ids == {0, *EXTRA_EOS}
    assert capfd.readouterr() == ("", ""), "the engine never prints, nor does the library in its name"


def test_all_that_a_section_says_reaches_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(TransformersModel, "load", lambda path, **how: said.append((path, how)))
    how = {"device": "cpu", "dtype": "bfloat16", "max_num_seqs": 7, "threads": 3}
    load_model(ModelSection.model_validate({"backend": "transformers", "path": "a/b", **how}))
    load_model(ModelSection.model_validate({"path": "statements", **how}))
    load_model(ModelSection.model_validate(how))
    names = (("a/b", "transformers"), ("statements", "embedded"), ("embedded", "embedded"))
    assert [rest for _, rest in said] == [how | {"name": name, "backend": backend} for name, backend in names]
    assert [Path(path).name for path, _ in said] == ["b", "statements", "arithmetic"]
    for name in ("nothing", ".."):
        words = (
            f"no built-in model is called '{name}' (model.path): use one of: arithmetic, dialogues, statements; for "
            "your own model folder set model.backend to transformers"
        )
        with pytest.raises(ModelError, match=exactly(words)):
            load_model(ModelSection(path=name))


def test_a_model_is_called_as_its_section_names_it() -> None:
    assert model_path(ModelSection()) == (str(EMBEDDED), "embedded")
    statements = ModelSection(path="statements")
    assert model_path(statements) == (str(embedded_folder("statements")), "statements")
    assert model_path(ModelSection(backend="transformers", path="a/b")) == ("a/b", "a/b")


def test_a_model_says_where_it_runs_and_for_which_backend(copied: Path) -> None:
    info = TransformersModel.load(str(copied), device="auto", backend="embedded").info
    assert (info.device, info.backend) == (str(pick_device("auto")), "embedded")


def test_threads(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for a small model; a large one that is loaded after it has all again."""
    chosen: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    monkeypatch.setattr(models, "ALL_THREADS", 8)
    load(copied)
    TransformersModel.load(str(copied), device="cpu", threads=3)
    monkeypatch.setattr(models, "ONE_THREAD", 0)
    load(copied)
    assert chosen == [1, 3, 8]


def test_dtypes(copied: Path) -> None:
    assert load(copied, dtype="bfloat16").info.dtype == "bfloat16"
    assert load(copied, dtype="bfloat16").info.fingerprint == load(copied).info.fingerprint


@pytest.mark.parametrize(
    ("large", "has", "dtype", "reason"),
    [
        (True, True, "bfloat16", "this processor multiplies bfloat16"),
        (True, False, "float32", "this processor has no bfloat16"),
        (False, True, "float32", ""),
    ],
)
def test_auto_on_a_cpu(
    copied: Path, monkeypatch: pytest.MonkeyPatch, large: bool, has: bool, dtype: str, reason: str
) -> None:
    monkeypatch.setattr(cpu_dtype, "has_bfloat16", lambda: has)
    parameters = load(copied).info.parameters
    monkeypatch.setattr(cpu_dtype, "LARGE", parameters if large else parameters + 1)
    info = load(copied).info
    assert (info.dtype, info.dtype_reason) == (dtype, reason)
    assert load(copied, dtype="float32").info.dtype_reason == ""
    assert load(copied, dtype="float32").info.fingerprint == info.fingerprint


@pytest.mark.parametrize(
    ("avx512", "amx", "has"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_either_of_two_units_multiplies_bfloat16(
    monkeypatch: pytest.MonkeyPatch, avx512: bool, amx: bool, has: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    assert cpu_dtype.has_bfloat16() == has
    beside_8_bits = torch.bfloat16 if has else torch.float32
    assert pick_dtype("int8", torch.device("cpu"), None) == (beside_8_bits, "")


@pytest.mark.parametrize(
    ("saved", "dtype", "reason"),
    [
        (torch.bfloat16, torch.bfloat16, "the type of the saved weights"),
        (torch.float16, torch.float16, "the type of the saved weights"),
        (None, torch.float32, ""),
        (torch.int8, torch.float32, ""),
    ],
)
def test_auto_on_an_accelerator_is_the_type_of_the_saved_weights(
    saved: torch.dtype | None, dtype: torch.dtype, reason: str
) -> None:
    for device in ("cuda", "mps"):
        found = pick_dtype("auto", torch.device(device), SimpleNamespace(dtype=saved))
        assert found == (dtype, reason)
    assert pick_dtype("float16", torch.device("cuda"), SimpleNamespace(dtype=saved)) == (torch.float16, "")


@pytest.mark.parametrize(
    ("cuda", "mps", "device"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_auto_takes_the_fastest_device_there_is(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, device: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert pick_device("auto").type == device
    assert pick_device("cpu").type == "cpu"


def test_fingerprint_changes_with_a_weight_and_with_the_shape(copied: Path) -> None:
    before = load(copied).info.fingerprint
    assert load(copied).info.fingerprint == before
    weights = load_file(copied / "model.safetensors")
    weights["model.layers.1.mlp.up_proj.weight"][3, 4] += 1e-3
    save_file(weights, copied / "model.safetensors", {"format": "pt"})
    after = load(copied).info.fingerprint
    assert after != before
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 1e-5}))
    assert load(copied).info.fingerprint not in (before, after)
    (copied / "config.json").write_text(json.dumps({**config, "transformers_version": "0"}))
    assert load(copied).info.fingerprint == after
    (copied / "config.json").write_text(json.dumps(dict(reversed(config.items()))))
    assert load(copied).info.fingerprint == after, "the order of the keys says nothing"


def test_fingerprint_of_large_files_is_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "WHOLE", 1000)
    monkeypatch.setattr(fingerprints, "BLOCK", 64)
    config, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    config.write_text("{}")
    content = bytearray(range(256)) * 100
    seen = set()
    for place in (None, 0, 10, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        if place is not None:
            changed[place : place + 500] = bytes(len(changed[place : place + 500]))
            changed[place] = content[place] ^ 0xAA
        weights.write_bytes(changed)
        seen.add(fingerprints.fingerprint(config, [weights]))
    assert len(seen) == 5


def test_fingerprints_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories name their model by them: one that is computed otherwise turns every earlier memory down."""
    assert (fingerprints.WHOLE, fingerprints.BLOCKS, fingerprints.BLOCK) == (268_435_456, 64, 65_536)
    monkeypatch.setattr(fingerprints, "WHOLE", 10)
    monkeypatch.setattr(fingerprints, "BLOCK", 4)
    monkeypatch.setattr(fingerprints, "BLOCKS", 3)

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    config, one, two = (tmp_path / name for name in ("config.json", "b.safetensors", "a.safetensors"))
    config.write_text('{"b": 2, "a": 1, "_name_or_path": "x", "transformers_version": "4", "torch_dtype": "f", '
                      '"dtype": "f", "use_cache": true}')  # fmt: skip
    computed = '{"a": 1, "b": 2}'
    one.write_text("0123456")
    two.write_text("xyz")
    names = "\0{}\0{}\0{}"
    a, b = names.format("a.safetensors", 3, "xyz"), names.format("b.safetensors", 7, "0123456")
    assert fingerprints.fingerprint(config, [one, two]) == digest(computed + a + b)
    one.write_text("01234567")  # eleven bytes of both
    a, b = names.format("a.safetensors", 3, "xyz" * 3), names.format("b.safetensors", 8, "012323454567")
    assert fingerprints.fingerprint(config, [one, two]) == digest(computed + a + b)
    one.write_text("0123456789")
    assert fingerprints.file_fingerprint(one) == digest("10\x000123456789")
    assert fingerprints.parts_fingerprint([one]) == fingerprints.file_fingerprint(one)
    one.write_text("0123456789a")
    assert fingerprints.file_fingerprint(one) == digest("11\x00" + "01233456789a")
    parts = digest("11\x00" + "01233456789a") + digest("3\x00xyz")
    assert fingerprints.parts_fingerprint([one, two]) == digest(parts)


def test_a_home_folder_may_be_written_short(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(copied.parent))
    assert pretrained._source("~/model") == (str(copied), {})
    assert pretrained.model_fingerprint("~/model") == pretrained.model_fingerprint(str(copied))
    said = "no such model folder (~/models): correct `model.path`"
    with pytest.raises(ModelError, match=exactly(said)):
        pretrained._source("~/models")


def test_the_files_of_a_hub_name_are_those_of_its_snapshot(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def cached_file(name: str, file: str) -> str:
        asked.append((name, file))
        return str(copied / file)

    monkeypatch.setattr(pretrained, "cached_file", cached_file)
    assert pretrained._source("nobody/nothing") == ("nobody/nothing", {})
    config, weights = pretrained._files("nobody/nothing")
    assert (config, weights) == (copied / "config.json", [copied / "model.safetensors"])
    assert asked == [("nobody/nothing", "config.json")]
    assert pretrained._files(str(copied)) == (config, weights) and len(asked) == 1


@pytest.mark.parametrize("part", [0.5, 0.0])
def test_truncated_weights(copied: Path, part: float) -> None:
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: int(weights.stat().st_size * part)])
    with pytest.raises(ModelError) as caught:
        load(copied)
    assert str(copied) in caught.value.where
    assert caught.value.hint


def test_missing_and_misshapen_weights(copied: Path) -> None:
    weights = load_file(copied / "model.safetensors")
    gone = weights.pop("model.layers.2.mlp.up_proj.weight")
    save_file(weights, copied / "model.safetensors", {"format": "pt"})
    name = "model.layers.2.mlp.up_proj.weight"
    said = f"weights do not fit the model: 1 missing ({name}) ({copied}): {AGAIN}"
    with pytest.raises(ModelError, match=exactly(said)):
        load(copied)
    weights[name] = gone[:, :5].contiguous()
    save_file(weights, copied / "model.safetensors", {"format": "pt"})
    said = (
        f"weights do not fit the model: 1 of another shape than config.json says ({name}) ({copied}): {AGAIN}"
    )
    with pytest.raises(ModelError, match=exactly(said)):
        load(copied)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
        RuntimeError("HIP error: Out of memory"),
        torch.OutOfMemoryError("allocation failed"),
    ],
)
def test_a_full_device_is_told_by_whatever_words(error: RuntimeError) -> None:
    said = (
        "the device's memory is full (generating): lower `model.max_num_seqs`, use a smaller `model.dtype` or model, "
        "or `model.device: cpu`"
    )
    with pytest.raises(ModelError, match=exactly(said)), memory_errors("generating"):
        raise error
    with pytest.raises(RuntimeError, match=exactly("another")), memory_errors("generating"):
        raise RuntimeError("another")


def test_the_first_three_of_each_fault_are_named() -> None:
    misshapen = [(name, (1,), (2,)) for name in "hgfe"]
    report = {"missing_keys": ["d", "c", "a", "b"], "mismatched_keys": misshapen}
    said = (
        "weights do not fit the model: 4 missing (a, b, c); 4 of another shape than config.json says (e, f, g) (m): "
        f"{AGAIN}"
    )
    with pytest.raises(ModelError, match=exactly(said)):
        _check_complete("m", report)


def test_weights_that_fit_are_said_nothing_of() -> None:
    _check_complete("m", {"missing_keys": [], "mismatched_keys": []})


@pytest.mark.parametrize(
    ("generation", "config", "ends"),
    [
        (None, None, set()),
        (None, 0, {0}),
        ([3, 4], 0, {0, 3, 4}),
        ((3,), [4, 5], {3, 4, 5}),
        (7, None, {7}),
    ],
)
def test_what_ends_a_text_is_told_by_both_settings(
    generation: object, config: object, ends: set[int]
) -> None:
    text = SimpleNamespace(eos_token_id=config)
    configuration = SimpleNamespace(get_text_config=lambda: text)
    assert _eos_ids(SimpleNamespace(eos_token_id=generation), configuration) == ends
    assert _eos_ids(None, configuration) == _eos_ids(SimpleNamespace(), configuration)


def test_capped_attention_is_computed_literally() -> None:
    """The fused one leaves the cap out. Other models take what the library chooses."""
    for config, way in (
        ({"attn_logit_softcapping": 50.0}, "eager"),
        ({"attn_logit_softcapping": None}, None),
    ):
        text = SimpleNamespace(**config)
        assert _attention(SimpleNamespace(get_text_config=lambda text=text: text)) == way
    assert _attention(SimpleNamespace(get_text_config=lambda: SimpleNamespace())) is None


@pytest.mark.parametrize("bars", [True, False])
def test_bars_are_drawn_after_loading_as_before(copied: Path, bars: bool) -> None:
    before = hf_logging.is_progress_bar_enabled()
    show, hide = hf_logging.enable_progress_bar, hf_logging.disable_progress_bar
    try:
        (show if bars else hide)()
        load_text_side(str(copied))
        assert hf_logging.is_progress_bar_enabled() == bars
    finally:
        (show if before else hide)()


def test_a_tokenizer_that_only_puts_a_sign_before_a_text_is_no_tokenizer(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the library's, where its files are missing: empty, but for the special tokens of its settings."""
    empty = SimpleNamespace(encode=lambda text, add_special_tokens=True: [1] if add_special_tokens else [])
    monkeypatch.setattr(pretrained.transformers.AutoTokenizer, "from_pretrained", lambda *args, **how: empty)
    with pytest.raises(ModelError, match="the tokenizer's files are missing: it encodes no text"):
        load_text_side(str(copied))


def test_the_rows_of_the_logits_of_a_model_that_takes_images_are_its_text_sides(
    folder: Callable[[str], Path],
) -> None:
    side = load_text_side(str(folder("gemma3")))
    assert side.vocab_size == len(side.tokenizer)


def test_an_error_is_told_by_itself_and_a_field_of_the_wrong_type_by_its_cause() -> None:
    with (
        pytest.raises(ModelError, match=exactly("it failed: outer (there): mend it")),
        library_errors("it failed", "there", "mend it"),
    ):
        raise ValueError("outer") from KeyError("inner")


def test_a_full_device_is_told_as_such_while_a_model_is_loaded() -> None:
    with pytest.raises(ModelError, match=r"the device's memory is full \(there\)"), _explained("there"):
        raise torch.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize("bars", [True, False])
def test_the_library_is_quiet_for_a_while(bars: bool) -> None:
    """Also where it fails; then it is as loud as before."""
    before = hf_logging.is_progress_bar_enabled(), hf_logging.get_verbosity()
    show, hide = hf_logging.enable_progress_bar, hf_logging.disable_progress_bar
    try:
        (show if bars else hide)()
        hf_logging.set_verbosity(logging.INFO)
        with pytest.raises(KeyError), quiet():
            assert not hf_logging.is_progress_bar_enabled()
            assert hf_logging.get_verbosity() == logging.CRITICAL
            raise KeyError
        assert (hf_logging.is_progress_bar_enabled(), hf_logging.get_verbosity()) == (bars, logging.INFO)
    finally:
        (show if before[0] else hide)()
        hf_logging.set_verbosity(before[1])


def test_the_text_side_of_a_model_that_cannot_be_steered_is_read(copied: Path) -> None:
    """A server of another engine may serve it."""
    config = json.loads((copied / "config.json").read_text())
    changed = {key: value for key, value in config.items() if key != "layer_types"} | {"model_type": "mamba"}
    (copied / "config.json").write_text(json.dumps(changed))
    side = load_text_side(str(copied))
    assert (side.vocab_size, side.eos) == (config["vocab_size"], {0, *EXTRA_EOS})
    with pytest.raises(ModelError, match="cannot be steered"):
        load(copied)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_missing_files(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(ModelError) as caught:
        load(copied)
    assert caught.value.what
    assert caught.value.hint


def test_spoilt_config(copied: Path) -> None:
    (copied / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config\.json does not name its `model_type`"):
        load(copied)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"num_hidden_layers": "three"},
            "cannot load the model: Field 'num_hidden_layers' expected int, got str (value: 'three')…",
        ),
        ({"num_attention_heads": 0}, "cannot load the model: …zero…"),
        ({"dtype": "nothing"}, "cannot load the model: …nothing…"),
    ],
)
def test_a_config_that_the_library_cannot_take_is_one_error(
    copied: Path, changes: dict[str, object], said: str
) -> None:
    file = copied / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    hint = (
        "`model.path` needs a folder with config.json, tokenizer and safetensors of a causal model, a whole GGUF file, "
        "or a hub name that can be reached or is in the local cache"
    )
    with pytest.raises(ModelError, match=exactly(said)) as raised:
        load(copied)
    assert (raised.value.where, raised.value.hint) == (str(copied), hint)


def test_no_such_folder() -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        load("/no/such/model")


def test_a_file_is_no_model_folder(copied: Path) -> None:
    with pytest.raises(ModelError, match=exactly("no such model folder (…): correct `model.path`")):
        load(copied / "config.json")


def test_no_such_hub_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="cannot load"):
        load("nobody/nothing")


@pytest.mark.skipif(torch.cuda.is_available(), reason="has CUDA")
@pytest.mark.parametrize(("mps", "there"), [(False, "cpu"), (True, "mps and cpu")])
def test_the_devices_of_this_machine_are_named_in_place_of_another(
    mps: bool, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    with pytest.raises(ModelError) as caught:
        pick_device("cuda", "graphs.device")
    assert str(caught.value) == (
        "no cuda device can be used on this machine (graphs.device): choose another (this machine has: "
        f"{there}), or install the driver and a torch build for it"
    )


def test_cuda_that_is_not_there(copied: Path) -> None:
    with pytest.raises(ModelError, match="no cuda device"):
        load(copied, device="cuda")


def test_architectures_that_cannot_be_steered_exactly(tmp_path: Path) -> None:
    """State that is no key/values (Mamba), places counted by column (ALiBi): refused, not quietly wrong."""
    import transformers

    from tests.tiny_models import tiny_tokenizer

    tokenizer = tiny_tokenizer()
    for name, config in {
        "mamba": transformers.MambaConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2),
        "bloom": transformers.BloomConfig(vocab_size=len(tokenizer), hidden_size=32, n_layer=2, n_head=4),
    }.items():
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        with pytest.raises(ModelError, match="cannot be steered"):
            load(tmp_path / name)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_vllm_that_is_not_installed(copied: Path) -> None:
    with pytest.raises(ModelError, match="vLLM cannot be imported") as raised:
        load_model(ModelSection(backend="vllm", path=str(copied)))
    assert "pip install 'steer-tui[vllm]'" in str(raised.value)
