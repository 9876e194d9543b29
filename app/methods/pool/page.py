"""The demonstration pool: training queries and held-out ones, the pools' best pairs, the selector."""

from __future__ import annotations

from app.methods.page import Chart, MethodPage, first_row
from app.methods.pool import results
from app.methods.pool.overview import OVERVIEW
from app.methods.pool.picks import PICKS
from app.methods.pool.queries import QUERIES
from app.methods.pool.what_if import WHAT_IF

PAGE = MethodPage(
    title="Pool",
    about="Searches for the pairs of examples that help the model most, and learns to choose them.",
    help="""\
# Pool: demonstrations

The model answers a query with two demonstrations out of a pool of 64 candidates. The stage brings each pool to that
size and tries pairs of the rows nearest to the query. A pair that raises the best score, or has a new score, is
*committed*; all others are *refused*. Candidates that committed pairs need are injected; they replace the least similar
candidates that no kept trajectory uses.

*Cases: picks* has a row for each held-out query: the pair that the selector, similarity (RICES) and random draws
picked for it, and the model's answers (✓ fully right, ◐ partly, ✗ wrong, – the model failed).
*Cases: queries* has a row for each training query: oracle@64 is the best known score of a pair, in the original data
and at the end. Opened, it shows the pairs that were committed, each with the answer and the score that it improved; the
pool (`+` was injected, `•` belongs to a kept trajectory); the replaced candidates; and every trajectory with the rule
that decided. *kept 3×* was kept once and repeated twice; *reserve* was refused, but fills a place that would else hold
a repetition (`pool.fill_with_refused`).
*Results* compares the methods on the held-out queries, and the pools before and after. *Training* is the selector's.
`w` asks a query again with other demonstrations, or with none. Underlined counts lead to the first of what they count.
""",
    shown_by={"pool": "queries", "selector": "training"},
    cases=(PICKS, QUERIES),
    what_if=WHAT_IF,
    overview=OVERVIEW,
    results=results.results,
    training=lambda state: results.course(state.pool),
    training_charts=(
        Chart("accuracy on held-out queries, 0 to 1", "training step", results.accuracy_curves),
        Chart("expected score on training queries, 0 to 1", "training step", results.score_curves),
    ),
    pictures=lambda state: results.accuracy_picture(state.pool),
    links={
        "better": first_row(PICKS, lambda row, method: row.sign(method) == 1),
        "worse": first_row(PICKS, lambda row, method: row.sign(method) == -1),
        "warning": first_row(QUERIES, lambda row, name: bool(row.warning)),
    },
)
