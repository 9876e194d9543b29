"""An offline controller: it reads conversations by rules and quotes its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.slsm.checks.checks import exclude, parse_check
from engine.slsm.checks.measures import gives_list, words_of
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.controllers.detection import constraints_of, exact_conflicts
from engine.slsm.controllers.diff import StateDiff, apply_diff, diff_between, next_id
from engine.slsm.controllers.rule_reading import (
    Reading,
    is_request,
    list_items,
    list_text,
    mentioned_subjects,
    read_assistant,
    read_edit,
    read_revocation,
    read_user,
    requested_subjects,
    sentences,
)
from engine.slsm.note import flat_statements, flat_text
from engine.slsm.state import (
    KINDS,
    LONGEST_MEMORY,
    LONGEST_TEXT,
    Constraint,
    Edit,
    FlatState,
    Item,
    MissingFact,
    Plan,
    SemanticState,
    State,
)
from engine.slsm.turns import Turn

FAR = 2
"""Turns after which the answering model may have forgotten a standing instruction."""


class RuleController:
    """Reads standing instructions, facts, preferences, agreed names, lists and their edits."""

    name = "rules (offline)"

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        """The state after the last turn; a flat memory is the structured state of all turns, as one text."""
        if isinstance(state, SemanticState):
            diff = self._diff(state, turns)
            return Update(apply_diff(state, diff), diff)
        built = SemanticState()
        for count in range(1, len(turns) + 1):
            built = apply_diff(built, self._diff(built, turns[:count]))
        statements = [item.text for kind in ("constraints", "facts", "edits") for item in built.items(kind)]
        while len(memory := flat_text(statements)) > LONGEST_MEMORY:
            statements = statements[1:]
        mismatch = any(item.status == "violated" for item in built.constraints)
        return Update(FlatState(memory_text=memory, plan=built.plan, mismatch=mismatch))

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """Broken constraints, and known values that the user asks for and the answer leaves out."""
        conflicts = exact_conflicts(constraints_of(state), answer)
        if isinstance(state, SemanticState):
            known = [(item.id, item.text) for kind in ("facts", "edits") for item in state.items(kind)]
        else:
            known = [(text, text) for text in flat_statements(state.memory_text)]
        return Detection((*conflicts, *_unsaid(known, turns[-1].user, answer)))

    def _diff(self, state: SemanticState, turns: Sequence[Turn]) -> StateDiff:
        turn = turns[-1]
        draft = _Draft(state)
        for sentence in sentences(turn.user):
            _read_sentence(draft, sentence)
        for sentence in sentences(turn.assistant or ""):
            for reading in read_assistant(sentence):
                draft.put(reading)
        if turn.assistant is not None:
            draft.check(turn.assistant)
        draft.update_unknowns(turn)
        new = draft.state()
        return StateDiff(diff_between(state, new).changes, _plan(new, turns))


class _Draft:
    """The state while a turn is read."""

    def __init__(self, state: SemanticState) -> None:
        self.lists: dict[str, list[Item]] = {kind: list(state.items(kind)) for kind in KINDS}
        self.taken = {item.id for items in self.lists.values() for item in items}

    def state(self) -> SemanticState:
        return SemanticState(**{kind: tuple(items) for kind, items in self.lists.items()})  # type: ignore[arg-type]

    def put(self, reading: Reading) -> None:
        """Add a reading; it replaces items about the same subject."""
        items = self.lists[reading.kind]
        new = KINDS[reading.kind](
            id=next_id(reading.kind, self.taken), text=reading.text, evidence=reading.quote
        )
        same = [item for item in items if _replaces(new, item)]
        if same:
            old = same[0]
            if old.text != new.text:
                items[items.index(old)] = new.model_copy(update={"id": old.id})
            self.lists[reading.kind] = [item for item in items if item not in same[1:]]
            return
        self.taken.add(new.id)
        items.append(new)

    def edit(self, sentence: str) -> bool:
        """Apply a sentence that edits the list; False if it does not."""
        for place, item in enumerate(self.lists["edits"]):
            edited = read_edit(sentence, list_items(item.text))
            if edited is not None:
                if len(text := list_text(edited)) <= LONGEST_TEXT:
                    self.lists["edits"][place] = Edit(id=item.id, text=text, evidence=sentence)
                return True
        return False

    def revoke(self, what: str) -> None:
        """Resolve constraints that share words with the revoked instruction, or forbid what it allows again."""
        revoked, allowed = set(words_of(what)) - _COMMON, parse_check(what)

        def stays(item: Item) -> bool:
            check = parse_check(item.text)
            if check is not None and allowed is not None and exclude(check, allowed):
                return False
            return not revoked & set(words_of(item.text))

        self.lists["constraints"] = [item for item in self.lists["constraints"] if stays(item)]

    def check(self, answer: str) -> None:
        """Set each checkable constraint's status by the assistant's answer."""
        for place, item in enumerate(self.lists["constraints"]):
            check = parse_check(item.text)
            if isinstance(item, Constraint) and check is not None:
                status = "satisfied" if check.holds(answer) else "violated"
                self.lists["constraints"][place] = item.model_copy(update={"status": status})

    def update_unknowns(self, turn: Turn) -> None:
        """Add requested subjects that are not known; remove unknowns that have become known."""
        known = {subject_of(item) for kind in ("facts", "edits") for item in self.lists[kind]}
        self.lists["unknowns"] = [item for item in self.lists["unknowns"] if subject_of(item) not in known]
        if turn.assistant is None and is_request(turn.user):
            listed = known | {subject_of(item) for item in self.lists["unknowns"]}
            for subject in requested_subjects(turn.user):
                if subject not in listed:
                    self.put(Reading("unknowns", f"What {_plain(subject)} is", turn.user))


_COMMON = frozenset((
    "a", "an", "the", "in", "with", "every", "each", "all", "answer", "answers", "answering", "reply", "replies",
    "response", "responses", "word", "words", "use", "using", "write", "writing", "say", "saying", "end", "ending",
    "begin", "to", "of", "i", "me", "my", "mine", "you", "your", "it", "that", "this", "is", "are", "be", "do",
    "not", "don't", "never", "always", "any", "for", "on", "from", "now", "no", "please", "what", "said", "last",
    "message", "question", "about", "at",
))  # fmt: skip


def _read_sentence(draft: _Draft, sentence: str) -> None:
    what = read_revocation(sentence)
    if what is not None:
        draft.revoke(what)
    elif not draft.edit(sentence):
        for reading in read_user(sentence):
            draft.put(reading)


def _replaces(new: Item, item: Item) -> bool:
    if subject_of(item) == subject_of(new):
        return True
    check = parse_check(new.text) if isinstance(item, Constraint) else None
    other = parse_check(item.text)
    return check is not None and other is not None and exclude(check, other)


def subject_of(item: Item) -> str:
    """The subject of an item: a new item replaces the old item of its subject."""
    match item:
        case Constraint():
            check = parse_check(item.text)
            return check.family if check is not None else f"instruction {item.text.casefold()}"
        case Edit():
            return "list"
        case MissingFact():
            return item.text.removeprefix("What ").removeprefix("the ").removesuffix(" is").casefold()
    return subject_and_value(item.text)[0]


def subject_and_value(text: str) -> tuple[str, str]:
    """(subject, value) of a fact's sentence; the whole sentence and "" if it has no such form."""
    match = re.match(r"(?:The (user's .+?)|(Our .+?)) is (?:called )?(.+)$", text)
    if match is None:
        return f"about {text.casefold()}", ""
    return (match[1] or match[2]).casefold(), match[3]


def _plain(subject: str) -> str:
    return f"the {subject}" if subject.startswith("user's") else subject


def _unsaid(known: Iterable[tuple[str, str]], question: str, answer: str) -> list[Conflict]:
    """A conflict for each known value that the user asks for and the answer leaves out."""
    if not is_request(question):
        return []
    requested = requested_subjects(question)
    conflicts: list[Conflict] = []
    for key, text in known:
        if text.startswith("The list is ") and "list" in requested:
            if not gives_list(answer, text.removeprefix("The list is ")):
                conflicts.append(Conflict(key, f"the list is not the latest: {text}", exact=True))
            continue
        subject, value = subject_and_value(text)
        if value and subject in requested and not _says(answer, value):
            conflicts.append(Conflict(key, f"does not say it: {text}", exact=True))
    return conflicts


def _says(answer: str, value: str) -> bool:
    """Whether the answer has a word of the value: a paraphrase hardly avoids all of them."""
    target = set(words_of(value))
    return bool((target - _COMMON or target) & set(words_of(answer)))


def _plan(state: SemanticState, turns: Sequence[Turn]) -> Plan:
    """clarify unknowns; verify requested items, broken constraints and constraints of long ago."""
    question = turns[-1].user if turns[-1].assistant is None else ""
    unknown = [f"not known: {item.text[0].lower()}{item.text[1:]}" for item in state.unknowns]
    if question and unknown:
        return Plan(mode="clarify", reasons=tuple(unknown))
    reasons: list[str] = []
    mentioned = mentioned_subjects(question) if question and is_request(question) else []
    for kind in ("facts", "edits"):
        reasons += [
            f"asked for {item.id}: {item.text}" for item in state.items(kind) if subject_of(item) in mentioned
        ]
    for item in state.constraints:
        age = _age(item.evidence, turns)
        if item.status == "violated":
            reasons.append(f"{item.id} was not kept in the last answer: {item.text}")
        elif age >= FAR:
            reasons.append(f"{item.id} was said {age} turns ago: {item.text}")
    return Plan(mode="verify" if reasons else "proceed", reasons=tuple(reasons))


def _age(quote: str, turns: Sequence[Turn]) -> int:
    """Number of turns since the user last said the quote."""
    for age, turn in enumerate(reversed(turns)):
        if quote and quote in turn.user:
            return age
    return 0
