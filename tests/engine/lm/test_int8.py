"""Linear layers of 8 bits: worked out by hand, against a literal computation, and in whole models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from engine.check.finding import Findings
from engine.check.requirements import _model
from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.loading import device, int8_linear
from engine.lm.loading.int8_linear import (
    Int8Linear,
    check_int8,
    has_int8,
    parameter_total,
    round_linear_layers,
)
from engine.lm.loading.pretrained import load_pretrained
from engine.lm.protocol import Request, Sampling
from engine.lm.transformers import network
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.test_gguf import write_gguf
from tests.exactly import exactly
from tests.tiny_models import save_tiny

pytestmark = pytest.mark.skipif(not has_int8(), reason="this processor has no 8-bit products")


class _Doubled(nn.Linear):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(input)


def _layer(weight: torch.Tensor, bias: torch.Tensor | None = None) -> Int8Linear:
    linear = nn.Linear(weight.shape[1], len(weight), bias is not None, dtype=weight.dtype)
    linear.weight = nn.Parameter(weight)
    if bias is not None:
        linear.bias = nn.Parameter(bias)
    model = nn.ModuleDict({"layer": linear})
    round_linear_layers(model, {})
    layer = model["layer"]
    assert isinstance(layer, Int8Linear)
    return layer


def _literal(weight: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Whole numbers and their scales, in float64."""

    def rounded(rows: torch.Tensor) -> torch.Tensor:
        scales = (rows.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-30)
        return (rows / scales).round().double() * scales.double()

    return rounded(inputs.float()) @ rounded(weight.float()).T


def test_an_output_worked_out_by_hand() -> None:
    # Weights 2, -1 become 127, -64 (63.5 goes to the even one) times 2/127; inputs 4, 1 become 127, 32 times 4/127.
    expected = (127 * 127 - 64 * 32) * (2 / 127) * (4 / 127) + 0.5
    layer = _layer(torch.tensor([[2.0, -1.0]]), torch.tensor([0.5]))
    assert layer(torch.tensor([[4.0, 1.0]])).item() == pytest.approx(expected, rel=1e-6)


def test_sums_are_not_cut_off_and_zeros_stay_zero() -> None:
    layer = _layer(torch.full((3, 64), 127.0))
    assert layer(torch.full((1, 64), -127.0)).tolist() == [[-127.0 * 127 * 64] * 3]
    assert layer(torch.zeros(1, 64)).tolist() == [[0.0] * 3]
    assert _layer(torch.zeros(2, 4))(torch.ones(1, 4)).tolist() == [[0.0] * 2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 2, 16, 33])
def test_it_is_the_literal_product(rows: int, dtype: torch.dtype) -> None:
    torch.manual_seed(rows)
    weight = torch.randn(200, 48).to(dtype)
    inputs = (torch.randn(rows, 3, 48) * torch.logspace(-3, 3, rows)[:, None, None]).to(dtype)
    outputs = _layer(weight)(inputs)
    assert outputs.dtype == dtype
    expected = _literal(weight, inputs)
    largest = expected.abs().amax(-1, keepdim=True)
    assert ((outputs - expected).abs() <= largest * (1e-5 if dtype == torch.float32 else 2**-8)).all()


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    torch.manual_seed(0)
    layer, inputs = _layer(torch.randn(80, 48)), torch.randn(16, 48) * torch.logspace(-3, 3, 16)[:, None]
    together = layer(inputs)
    assert all(torch.equal(layer(inputs[row : row + 1])[0], together[row]) for row in range(16))


@pytest.mark.parametrize("bias", [True, False])
def test_layers_that_are_given_the_same_are_one_product(bias: bool) -> None:
    """In any order, for any input, and each as if it stood alone."""
    torch.manual_seed(0)
    names = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj")
    plain = {name: nn.Linear(8, 3 + number, bias) for number, name in enumerate(names)}
    model = nn.ModuleDict(plain)
    alone = {name: _layer(layer.weight.detach(), layer.bias) for name, layer in plain.items()}
    round_linear_layers(model, {})
    products = [model[name].product for name in names]
    assert [products.index(product) for product in products] == [0, 0, 0, 3, 4, 4]
    first, second = torch.randn(2, 8), torch.randn(2, 8)
    given = [
        ("k_proj", first), ("q_proj", first), ("k_proj", first), ("q_proj", second), ("v_proj", second),
        ("v_proj", first), ("up_proj", second), ("o_proj", first), ("gate_proj", second), ("up_proj", second),
    ]  # fmt: skip
    for name, inputs in given:
        assert torch.equal(model[name](inputs), alone[name](inputs)), name


def test_layers_with_and_without_a_bias_are_no_one_product() -> None:
    torch.manual_seed(0)
    plain = {name: nn.Linear(8, 3, name == "q_proj") for name in ("q_proj", "k_proj", "v_proj")}
    model = nn.ModuleDict(plain)
    alone = {name: _layer(layer.weight.detach(), layer.bias) for name, layer in plain.items()}
    round_linear_layers(model, {})
    assert model["q_proj"].product is not model["k_proj"].product is model["v_proj"].product
    inputs = torch.randn(2, 8)
    for name, layer in alone.items():
        assert torch.equal(model[name](inputs), layer(inputs)), name


def test_what_is_no_number_stays_visible() -> None:
    outputs = _layer(torch.ones(2, 4))(torch.tensor([[1.0, float("inf"), 0, 0], [1, float("nan"), 0, 0]]))
    assert not outputs.isfinite().any()


def test_plain_layers_alone_are_rounded_and_counted() -> None:
    embed = nn.Embedding(5, 8)
    model = nn.ModuleDict(
        {
            "embed": embed,
            "up": nn.Linear(8, 6),
            "head": nn.Linear(8, 5, bias=False),
            "own": _Doubled(8, 2),
        }
    )
    model["head"].weight = embed.weight
    table = embed.weight.clone()
    round_linear_layers(model, {})
    kinds = {name: type(module) for name, module in model.items()}
    assert kinds == {"embed": nn.Embedding, "up": Int8Linear, "head": Int8Linear, "own": _Doubled}
    assert torch.equal(embed.weight, table)
    assert parameter_total(model) == 5 * 8 + (8 * 6 + 6) + (8 * 2 + 2)


@pytest.mark.parametrize("architecture", ["qwen2", "llama_tied", "gemma2"])
def test_a_model_writes_the_same_alone_and_in_a_batch(
    folder: Callable[[str], Path], architecture: str
) -> None:
    model = TransformersModel.load(str(folder(architecture)), device="cpu", dtype="int8")
    plain = TransformersModel.load(str(folder(architecture)), device="cpu", dtype="float32")
    assert (model.info.dtype, model.info.parameters) == ("int8", plain.info.parameters)
    assert not any(type(module) is nn.Linear for module in model.network.model.modules())
    requests = [Request([3, 4, 5 + row], Sampling(6)) for row in range(3)]
    together = [completion.tokens for completion in model.generate(requests)]
    assert [model.generate([request])[0].tokens for request in requests] == together


def test_the_parameters_of_8_bit_layers_count_for_the_length_of_a_pass(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = TransformersModel.load(str(folder("qwen2")), device="cpu", dtype="float32").info.parameters
    monkeypatch.setattr(network, "CPU_PASS", 1000 * parameters)
    for dtype in ("float32", "int8"):
        model = TransformersModel.load(str(folder("qwen2")), device="cpu", dtype=dtype)
        assert model.network.pass_tokens == 1000


@pytest.mark.parametrize("tied", [False, True])
def test_a_file_is_rounded_as_its_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tied: bool
) -> None:
    """Also the output weights of a file that holds them once, as the embeddings, which stay as they are."""
    monkeypatch.setattr(device, "has_bfloat16", lambda: False)
    folder = save_tiny(tmp_path / "tiny", "qwen2", "{% for m in messages %}{{ m['content'] }}{% endfor %}")
    if tied:
        config, weights = folder / "config.json", load_file(folder / "model.safetensors")
        config.write_text(json.dumps({**json.loads(config.read_text()), "tie_word_embeddings": True}))
        del weights["lm_head.weight"]
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
    file = write_gguf(folder, tmp_path / "tiny.gguf")
    ids = torch.tensor([[3, 4, 5, 6]])
    rounded = {
        kind: load_pretrained(str(path), "cpu", "int8") for kind, path in (("folder", folder), ("file", file))
    }
    assert torch.equal(*(pretrained.model(input_ids=ids).logits for pretrained in rounded.values()))
    assert rounded["file"].dtype == "int8"
    assert [pretrained.model.config.tie_word_embeddings for pretrained in rounded.values()] == [tied] * 2
    assert {type(pretrained.model.lm_head) for pretrained in rounded.values()} == {Int8Linear}
    # No number that only stood for a tensor is left.
    sizes = {name: weights.shape for name, weights in rounded["folder"].model.named_parameters()}
    assert {name: weights.shape for name, weights in rounded["file"].model.named_parameters()} == sizes


def test_what_cannot_round_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    check_int8(torch.device("cpu"))
    with pytest.raises(ModelError, match=r"need the CPU, and the model runs on cuda"):
        check_int8(torch.device("cuda"))
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    assert not int8_linear.has_int8()
    text = (
        "this processor or build of torch cannot multiply 8-bit numbers (AVX512-VNNI, FBGEMM) (model.dtype): "
        "set `model.dtype: auto`"
    )
    with pytest.raises(ModelError, match=exactly(text)):
        check_int8(torch.device("cpu"))
    with pytest.raises(ValueError, match=r"`model.dtype: int8` is for the backends"):
        ModelSection(backend="vllm", path="x", dtype="int8")


@pytest.mark.parametrize("supported", [True, False])
def test_the_check_says_it_before_the_run(
    folder: Callable[[str], Path], supported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: supported)
    findings = Findings()
    section = ModelSection(backend="transformers", path=str(folder("qwen2")), device="cpu", dtype="int8")
    _model(findings, "model", section)
    wrong = [(finding.where, finding.hint) for finding in findings.all if finding.kind == "wrong"]
    assert wrong == ([] if supported else [("model.dtype", "set `model.dtype: auto`")])


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_another_device_than_the_cpu_is_told(device: str) -> None:
    said = (
        f"weights of 8 bits need the CPU, and the model runs on {device} (model.dtype): set `model.device: cpu`, or a "
        "number type such as bfloat16"
    )
    with pytest.raises(ModelError, match=exactly(said)):
        check_int8(torch.device(device))
