"""What a stage's method reached against its baseline: the figure that a run is remembered by."""

from __future__ import annotations

import msgspec

SHARE, TOKENS = "share", "tokens"
"""Units: a share of 1, which may be shown in per cent; tokens."""


class Kept(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A second figure, which the gain should not cost: shares of 1 over the same items, of which `n` have it.
    `low`, `high`: paired 95% interval of the `difference`."""

    metric: str
    n: int
    value: float
    baseline_value: float
    difference: float
    low: float
    high: float


class Closest(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What is simpler than a method, and is not shown to be worse (`engine.closest`).

    `value`: its mean over the `n` items that both have; `difference`: minus the method's, with the paired bootstrap 95%
    interval. `metric`: where another figure than the verdict's decides. Tokens and calls: means of an item."""

    method: str
    n: int
    value: float
    difference: float
    low: float
    high: float
    metric: str = ""
    lower_is_better: bool = False
    tokens: float | None = None
    probe_tokens: float = 0.0
    calls: float | None = None

    @property
    def equal(self) -> bool:
        """Whether it has the very figure of the method."""
        return self.difference == 0

    @property
    def better(self) -> bool:
        """Whether it is shown to be better than the method."""
        return self.high < 0 if self.lower_is_better else self.low > 0


class Verdict(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A method beside its baseline on the same `n` `items`.

    `value`, `baseline_value`: means of `metric` in `unit`. `difference`: the first minus the second, with its paired
    bootstrap 95% interval `low` to `high`. `fixed`, `broken`: items that are right under the method alone, and under
    the baseline alone; where items are `graded` (partly right), those that are better and worse. `k`: of a metric at K
    tries. `ahead`: other simple methods that did better than this one, the best first. `closest`: the simpler one that
    is as good; None where none is. `tokens`, `baseline_tokens`: means of an item, probes and second tries included, of
    which `probe_tokens` are the method's probes; `calls`, `baseline_calls`: to models and servers; `cost`: of the whole
    stage, in the prices' unit. `curve`: how the method's figure moved over the items, or while it was trained
    (`engine.verdict_curve`). `remark`: a sentence on what the figure can be compared with. `stale`: set by who reads
    it, where its stage is to be done again.
    """

    method: str
    baseline: str
    metric: str
    n: int
    value: float
    baseline_value: float
    difference: float
    low: float
    high: float
    items: str = "examples"
    unit: str = SHARE
    lower_is_better: bool = False
    graded: bool = False
    fixed: int | None = None
    broken: int | None = None
    k: int | None = None
    kept: Kept | None = None
    ahead: list[str] = []
    closest: Closest | None = None
    tokens: float | None = None
    baseline_tokens: float | None = None
    probe_tokens: float = 0.0
    calls: float | None = None
    baseline_calls: float | None = None
    cost: float | None = None
    curve: list[float] = []
    remark: str = ""
    stale: bool = False

    @property
    def shown(self) -> bool:
        """Whether a difference is shown: its interval does not hold zero."""
        return self.low > 0 or self.high < 0

    @property
    def better(self) -> bool:
        """Whether the method is ahead of the baseline, shown or not."""
        return self.difference < 0 if self.lower_is_better else self.difference > 0


def rank(value: float, tokens: float | None, lower_is_better: bool) -> tuple[float, float]:
    """Order of results that can be compared, the best first: by value, then by tokens."""
    return value if lower_is_better else -value, tokens or 0.0
