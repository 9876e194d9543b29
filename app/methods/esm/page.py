"""Episodic steering memory: its decisions, the pairs and entries behind them, and its methods against greedy."""

from __future__ import annotations

from app.methods.esm import results, training
from app.methods.esm.decisions import DECISIONS, answer_place, decision_place, decisions_of
from app.methods.esm.entries import ENTRIES
from app.methods.esm.overview import OVERVIEW
from app.methods.esm.pairs import PAIRS
from app.methods.esm.what_if import WHAT_IF
from app.methods.page import Chart, MethodPage, first_row
from app.methods.place import Place
from app.table.decision_fields import DECISION_FIELDS
from engine.events import ExampleEvaluated

PAGE = MethodPage(
    title="ESM",
    about="Remembers which nudges to the activations turned wrong steps right, and applies them.",
    help="""\
# Episodic steering memory

*Cases: decisions* has a row for every steering decision. The line below it holds esm's running accuracy minus greedy's,
with its 95% interval, and the tokens it costs. `d` goes to the next answer that is right under one of the two only,
where it left greedy's way. `enter` opens a decision: the question with all answers, the chain of segments, the rule in
a sentence, a bar for each candidate's Score with null's as a line through them, and the texts: + is what steering
wrote, − what greedy wrote or null would have written. *null* is to inject nothing; *Â* is similarity × quality of an
entry. `tab` chooses one of the underlined ids, `enter` goes there, `backspace` comes back.
`w` asks *what if*: another entry, strength or layer, or null, here or to the end, decoded beside the record.

*Cases: pairs* has the mined pairs, right against wrong text. *Cases: entries* has those of the memory with a ledger:
how often each was injected, the answers it turned right (▲) and wrong (▼), and its probes' mean Δlogp. An answer is
turned by the entry that was injected where it left greedy's way; sorted by *net*, those that hurt come first.
*Results* compares each method with greedy (Wilson interval, paired bootstrap interval, McNemar's p); an underlined
count leads to the decisions of the examples in which the method differs. *Training* is mining, selection and memory.

`/` filters decisions: `correct and alpha>0.5`, `chosen:null`, `method:esm m:2..4`, `not correct gate!=tau_null`,
`score:none`, `chosen:backward*`, `question~apples`. Plain words are searched in names and questions. Without the
filter (`escape`) the cursor stays on its row, among all others. The fields:

"""
    + "\n".join(f"- `{field.name}` {field.help}" for field in DECISION_FIELDS.values()),
    shown_by={
        "mine": PAIRS.name,
        "select": ENTRIES.name,
        "memory": "training",
        "eval": DECISIONS.name,
        "serve": DECISIONS.name,
    },
    cases=(DECISIONS, PAIRS, ENTRIES),
    what_if=WHAT_IF,
    overview=OVERVIEW,
    results=lambda state: results.results(state.esm),
    more_results=lambda state: results.running(state.esm),
    result_charts=(Chart("accuracy so far, share of answers right", "examples", results.accuracy_curves),),
    training=training.training,
    training_charts=(Chart("gain in the objective", "entry, in the order of picking", training.gain_curve),),
    pictures=lambda state: results.difference_picture(state.esm),
    links={
        "entry": first_row(ENTRIES, lambda entry, name: entry.pick.entry == name, opened=False),
        "pair": first_row(PAIRS, lambda pair, name: pair.pair == name, opened=False),
        "decision": decision_place,
        "example": lambda state, name: Place(DECISIONS.name, filter=decisions_of(*name.split(" ", 1))),
        "filter": lambda state, name: Place(DECISIONS.name, filter=name),
    },
    event_places={ExampleEvaluated: answer_place},
)
