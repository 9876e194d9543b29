"""What is put behind a generated processor for vLLM: a class of its logits processors' interface.

The interface is `vllm.v1.sample.logits_processor.LogitsProcessor`, which vLLM takes from 0.10 on; where vLLM runs its
second model runner (0.32 and later), `VLLM_USE_V2_MODEL_RUNNER=0` brings it back.
"""

VLLM_CLASS = '''

VLLMBase: Any = _base("vllm", "vllm.v1.sample.logits_processor", "LogitsProcessor")


class ClusterDeltaVLLMProcessor(VLLMBase):
    """For vLLM: `--logits-processors MODULE:ClusterDeltaVLLMProcessor`, MODULE being this file. All requests get it."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Requests have no parameters for it."""

    def __init__(self, vllm_config: Any = None, device: Any = None, is_pin_memory: bool = False) -> None:
        """Nothing to prepare."""

    def is_argmax_invariant(self) -> bool:
        """It changes which token is likeliest."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """All rows are treated alike, whatever was written."""

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """`logits`: (rows, vocabulary)."""
        return _steered(logits)
'''
