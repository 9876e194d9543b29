"""Any state, any diff that fits one: strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.slsm.state import KINDS, Item, Plan, SemanticState

TEXTS = st.text("abc xyz.äß漢", min_size=1, max_size=12)
STATUSES = {"constraints": ("active", "satisfied", "violated"), "assumptions": ("valid", "invalid")}
PLANS = st.builds(
    Plan,
    mode=st.sampled_from(("proceed", "verify", "clarify")),
    reasons=st.lists(TEXTS, max_size=2).map(tuple),
)


@st.composite
def items(draw: st.DrawFn, kind: str, number: int) -> Item:
    """An item of this list, with this number."""
    fields = {"id": f"{kind[0].upper()}{number}", "text": draw(TEXTS), "evidence": draw(TEXTS | st.just(""))}
    if kind in STATUSES:
        fields["status"] = draw(st.sampled_from(STATUSES[kind]))
    return KINDS[kind].model_validate(fields)


@st.composite
def states(draw: st.DrawFn) -> SemanticState:
    """Up to four items a list, in order of their numbers."""
    lists = {
        kind: tuple(
            draw(items(kind, number)) for number in sorted(draw(st.sets(st.integers(1, 6), max_size=4)))
        )
        for kind in KINDS
    }
    return SemanticState(**lists, plan=draw(PLANS))  # type: ignore[arg-type]
