"""A reader of the user's own: `answer.reader` as `module:Class`. Where it fails, the stage ends, as it does where a
reader's server fails; finished answers are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.errors import RunError, SteerError
from engine.gflownet.evaluation.path_prompt import EvidencePrompt, rough_tokens
from engine.own_class import Method, Role, make_own, misuse, name_of, shown, told
from engine.run.gate import StopRequested

READER = Role(
    "answer.reader",
    (Method("read", ("prompts", "checkpoint")), Method("count_tokens", ("text",), required=False)),
)


class OwnReader:
    """`read(prompts: list[EvidencePrompt], checkpoint)` returns a text for each prompt: names, a line each. It may call
    `checkpoint()` between two of them. `count_tokens(text)`, which may be left out, returns a whole number; without it
    words and signs are counted."""

    def __init__(self, kind: str) -> None:
        self._kind, self._own = kind, make_own(kind, READER)
        self.name = name_of(self._own, kind)

    def count_tokens(self, text: str) -> int:
        """Raises RunError."""
        if not hasattr(self._own, "count_tokens"):
            return rough_tokens(text)
        count = self._called("count_tokens", text)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise self._failed("count_tokens", f"it returned {shown(count)}, not a whole number from 0 on")
        return count

    def read(self, prompts: Sequence[EvidencePrompt], checkpoint: Callable[[], None]) -> list[str]:
        """Raises RunError."""
        said = self._called("read", list(prompts), checkpoint)
        if not isinstance(said, list | tuple) or not all(isinstance(text, str) for text in said):
            raise self._failed("read", f"it returned {shown(said)}, not a list of texts")
        if len(said) != len(prompts):
            raise self._failed("read", f"it returned {len(said)} texts for {len(prompts)} prompts")
        return list(said)

    def _called(self, method: str, *arguments: object) -> object:
        try:
            return getattr(self._own, method)(*arguments)
        except (SteerError, StopRequested):  # the second comes from `checkpoint`
            raise
        except BaseException as error:
            raise self._failed(method, told(error)) from error

    def _failed(self, method: str, problem: str) -> RunError:
        return RunError(**misuse(self._kind, READER, method, problem))
