"""Exported vectors in the hands of the tools that read them, against this program, on the included arithmetic model.

`python -m tests.bench.bench_other_tools [MODEL FOLDER]`, in an environment that has `repeng` or `steering-vectors`
beside this program's packages; a tool that is not there is skipped. Prints, for each tool:

- apply: the largest difference of the residual stream after the steered layer at the last token, where each adds the
  same vector (repeng from the exported file); and of the next token's logits, where the tool can add it to the last
  token alone
- make: the cosine of its direction with ours, made from the same pairs of prompts
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.esm.baselines.prompt_pairs import PromptPair, differences, mean_difference, principal_difference
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import Vector
from engine.lm.transformers.model import TransformersModel
from engine.lm.transformers.steering_hook import steering
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors
from engine.vectors.names import FORMATS

PAIRS = [PromptPair(f"{a} + {b} = ", f"{a} - {b} = ") for a in range(10, 18) for b in (3, 5, 8)]
TEXT = "12 + 7 = 19\n\n19 - 4 = "


class Bench:
    """The model twice: ours, and the bare one that tools hook."""

    def __init__(self, folder: str, work: Path) -> None:
        self.work = work
        self.ours = TransformersModel.load(folder, device="cpu", dtype="float32")
        self.network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.layer = self.ours.info.num_layers // 2
        self.found = differences(self.ours, PAIRS, self.layer)
        self.vector: Vector = mean_difference(self.found)
        self.tokens = torch.tensor([self.ours.tokenizer.encode(TEXT)])
        with steering(self.network.model.layers, {self.layer: torch.from_numpy(self.vector)[None]}):
            self.reference = self.state_and_logits()

    def file(self, form: str) -> Path:
        """The mean difference, exported."""
        path = self.work / f"{form}{FORMATS[form].suffix}"
        path.write_bytes(vector_file(form, LayerVectors({self.layer: self.vector}), "bench", 1.0))
        return path

    @torch.no_grad()
    def state_and_logits(self) -> tuple[np.ndarray, np.ndarray]:
        """After the steered layer and at the end, at the last token, under whatever hooks are on the bare network."""
        seen: list[torch.Tensor] = []
        following = self.network.model.layers[self.layer + 1]
        hook = following.register_forward_pre_hook(
            lambda m, args, kw: seen.append(_hidden(args, kw)), with_kwargs=True
        )
        logits = self.network(input_ids=self.tokens).logits
        hook.remove()
        return seen[0][0, -1].numpy(), logits[0, -1].numpy()

    def told(self, tool: str, seen: tuple[np.ndarray, np.ndarray], last_only: bool) -> None:
        """How far it is from what this program's own hook does."""
        ours = self.reference
        logits = f", logits {np.abs(seen[1] - ours[1]).max():.1e}" if last_only else ""
        print(f"{tool:18} apply: state {np.abs(seen[0] - ours[0]).max():.1e}{logits}")


def _hidden(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    return args[0] if args else kwargs["hidden_states"]


def _cosine(a: Any, b: Any) -> float:
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def steering_vectors(bench: Bench) -> None:
    """Its SteeringVector on all tokens and on the last; its mean and PCA."""
    from steering_vectors import SteeringVector, train_steering_vector
    from steering_vectors.aggregators import pca_aggregator

    read = SteeringVector({bench.layer: torch.from_numpy(bench.vector)}, "decoder_block")
    with read.apply(bench.network):
        bench.told("steering-vectors", bench.state_and_logits(), last_only=False)
    last = bench.tokens.shape[1] - 1
    with read.apply(bench.network, min_token_index=None, token_indices=[last]):  # pyright: ignore
        bench.told("… last token", bench.state_and_logits(), last_only=True)
    samples = [(pair.positive, pair.negative) for pair in PAIRS]
    for name, options, ours in (
        ("mean", {}, mean_difference(bench.found)),
        ("pca", {"aggregator": pca_aggregator()}, principal_difference(bench.found)),
    ):
        made = train_steering_vector(bench.network, bench.tokenizer, samples, layers=[bench.layer], **options)
        theirs = made.layer_activations[bench.layer].numpy()
        ratio = np.linalg.norm(theirs) / np.linalg.norm(ours)
        print(f"{'':18} make {name}: cosine {_cosine(theirs, ours):.6f}, length {ratio:.4f} of ours")


def repeng(bench: Bench) -> None:
    """Its ControlVector on all tokens; its two ways to a direction."""
    np.float_ = np.float64  # pyright: ignore  # it was written for numpy 1
    from repeng import ControlModel, ControlVector, DatasetEntry

    dataset = [DatasetEntry(pair.positive, pair.negative) for pair in PAIRS]
    for method in ("pca_center", "pca_diff"):
        made = ControlVector.train(
            bench.network, bench.tokenizer, dataset, method=method, hidden_layers=[bench.layer], batch_size=1
        )
        cosine = _cosine(made.directions[bench.layer], principal_difference(bench.found))
        print(f"{'repeng':18} make {method}: cosine {cosine:.6f}")
    read = ControlVector.import_gguf(bench.file("repeng"))
    control = ControlModel(bench.network, [bench.layer])
    control.set_control(read)
    seen = bench.state_and_logits()
    control.unwrap()
    bench.told("repeng", seen, last_only=False)


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else str(EMBEDDED)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(folder, Path(work))
        layers = bench.ours.info.num_layers
        print(
            f"layer {bench.layer} of 0 to {layers - 1}; a vector of length {np.linalg.norm(bench.vector):.3g}"
        )
        for package, check in (("steering_vectors", steering_vectors), ("repeng", repeng)):
            if importlib.util.find_spec(package) is None:
                print(f"{package}: not installed, skipped")
            else:
                check(bench)


if __name__ == "__main__":
    main()
