"""The ledger of the memory: for each entry how often it was injected, and what came of it.

An answer is turned by the entry that was injected in the segment in which it left greedy's way: what was injected
later works on a text that is another one already.
"""

from __future__ import annotations

from typing import NamedTuple


class EntryUse(NamedTuple):
    """`used` in how many decisions; `right` and `wrong`: answers that it turned. `logprob`: the sum of the Δ
    log-probabilities (nats a token) over the `probed` decisions that injected it."""

    used: int = 0
    right: int = 0
    wrong: int = 0
    logprob: float = 0.0
    probed: int = 0

    @property
    def net(self) -> int | None:
        """Answers turned right minus those turned wrong; None for an entry that was never injected."""
        return self.right - self.wrong if self.used else None

    @property
    def mean_logprob(self) -> float | None:
        """Mean Δ log-probability of its probe against null's; None where none was made."""
        return self.logprob / self.probed if self.probed else None

    def injected(self, delta_logprob: float | None, by: int = 1) -> EntryUse:
        """With one decision more, or (`by` -1) one less."""
        used, right, wrong, logprob, probed = self
        if delta_logprob is None:
            return EntryUse(used + by, right, wrong, logprob, probed)
        return EntryUse(used + by, right, wrong, logprob + by * delta_logprob, probed + by)

    def turned(self, sign: int, by: int = 1) -> EntryUse:
        """With one answer more, or (`by` -1) one less: `sign` 1 turned right, -1 turned wrong."""
        return self._replace(right=self.right + by * (sign > 0), wrong=self.wrong + by * (sign < 0))


UNUSED = EntryUse()
"""Of an entry that nothing is known of yet."""
