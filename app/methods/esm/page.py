"""Episodic steering memory: its decisions, the pairs and entries behind them, and its methods against greedy."""

from __future__ import annotations

from collections.abc import Iterable

from app.blocks.block import Block, Picture, Target
from app.methods.esm import results, training
from app.methods.esm.decisions import DECISIONS, decision_row, decisions_of
from app.methods.esm.entries import ENTRIES
from app.methods.esm.overview import OVERVIEW
from app.methods.esm.pairs import PAIRS
from app.methods.esm.what_if import WHAT_IF
from app.methods.page import Chart, MethodPage
from app.methods.place import Place
from app.state.run import RunState
from app.table.decision_fields import DECISION_FIELDS
from engine.events import ExampleEvaluated


class EsmPage(MethodPage):
    title = "ESM"
    about = "Remembers which nudges to the activations turned wrong steps right, and applies them."
    help = """\
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
`score:none`, `chosen:wrong-00*`, `question~apples`. Plain words are searched in names and questions. Without the
filter (`escape`) the cursor stays on its row, among all others. The fields:

""" + "\n".join(f"- `{field.name}` {field.help}" for field in DECISION_FIELDS.values())
    shown_by = {
        "mine": PAIRS.name,
        "select": ENTRIES.name,
        "memory": "training",
        "eval": DECISIONS.name,
        "serve": DECISIONS.name,
    }
    cases = (DECISIONS, PAIRS, ENTRIES)
    what_if = WHAT_IF
    overview = OVERVIEW
    event_places = {
        ExampleEvaluated: lambda event: Place(
            DECISIONS.name, filter=decisions_of(event.method, event.example)
        ),
    }
    result_charts = (Chart("accuracy so far, share of answers right", "examples", results.accuracy_curves),)
    training_charts = (Chart("gain in the objective", "entry, in the order of picking", training.gain_curve),)

    def results(self, state: RunState) -> list[Block]:
        return results.results(state.esm)

    def more_results(self, state: RunState) -> list[Block]:
        return results.running(state.esm)

    def training(self, state: RunState) -> list[Block]:
        return [*training.mined(state.esm), *training.memory(state.esm), *training.figures(state)]

    def pictures(self, state: RunState) -> list[Picture]:
        return results.difference_picture(state.esm)

    def place_of(self, target: Target, state: RunState) -> Place | None:
        """`decision` is a method, an example and a segment; `example` a method and an example; `filter` decisions."""
        name = target.name
        match target.kind:
            case "entry":
                return _first(ENTRIES.name, (pick.entry == name for pick in state.esm.picks))
            case "pair":
                return _first(PAIRS.name, (pair.pair == name for pair in state.esm.pairs))
            case "decision":
                method, example, m = name.rsplit(" ", 2)
                row = decision_row(state, method, example, int(m))
                return None if row is None else Place(DECISIONS.name, row, open=True)
            case "example":
                return Place(DECISIONS.name, filter=decisions_of(*name.split(" ", 1)))
            case _:
                return Place(DECISIONS.name, filter=name)


def _first(kind: str, matches: Iterable[bool]) -> Place | None:
    """The first row of a kind that matches."""
    row = next((row for row, hit in enumerate(matches) if hit), None)
    return None if row is None else Place(kind, row)
