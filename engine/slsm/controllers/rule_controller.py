"""A controller of rules, offline: it quotes what it rests on, and knows only what its rules read (DESIGN 6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.slsm.checks.checks import exclude, parse_check
from engine.slsm.checks.measures import words_of
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.controllers.detection import exact_conflicts, flat_constraints
from engine.slsm.controllers.diff import StateDiff, apply_diff, diff_between, next_id
from engine.slsm.controllers.rule_reading import (
    Reading,
    asked_about,
    asked_back,
    is_request,
    list_items,
    list_text,
    read_assistant,
    read_edit,
    read_revocation,
    read_user,
    sentences,
)
from engine.slsm.note import flat_statements, flat_text
from engine.slsm.state import (
    KINDS,
    LONGEST_MEMORY,
    LONGEST_TEXT,
    Assumption,
    Constraint,
    Edit,
    Fact,
    FlatState,
    Item,
    Plan,
    SemanticState,
    State,
    Unknown,
)
from engine.slsm.turns import Turn

FAR = 2
"""Turns after which a standing instruction is at risk of being forgotten."""


class RuleController:
    """Reads standing instructions, facts, preferences, agreed names, lists and their edits."""

    name = "rules (offline)"

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        """The state after the last turn."""
        if isinstance(state, SemanticState):
            diff = self._diff(state, turns)
            return Update(apply_diff(state, diff), diff)
        # The flat memory is what the structured one says, in one text: both are read from the same turns.
        built = SemanticState()
        for count in range(1, len(turns) + 1):
            built = apply_diff(built, self._diff(built, turns[:count]))
        statements = [item.text for kind in ("constraints", "facts", "edits") for item in built.items(kind)]
        while len(memory := flat_text(statements)) > LONGEST_MEMORY:
            statements = statements[1:]
        mismatch = any(item.status == "violated" for item in built.constraints)
        return Update(FlatState(memory_text=memory, plan=built.plan, mismatch=mismatch))

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """Exact checks; and what was asked for and is known must be in the answer."""
        if isinstance(state, SemanticState):
            conflicts = exact_conflicts(state.constraints, answer)
            known = [(item.id, item.text) for kind in ("facts", "edits") for item in state.items(kind)]
        else:
            conflicts = exact_conflicts(flat_constraints(state.memory_text), answer)
            known = [(text, text) for text in flat_statements(state.memory_text)]
        return Detection((*conflicts, *_unsaid(known, turns[-1].user, answer)))

    def _diff(self, state: SemanticState, turns: Sequence[Turn]) -> StateDiff:
        turn = turns[-1]
        new = _Draft(state)
        for sentence in sentences(turn.user):
            _read_sentence(new, sentence)
        for sentence in sentences(turn.assistant or ""):
            for reading in read_assistant(sentence):
                new.put(reading)
        if turn.assistant is not None:
            new.check(turn.assistant)
        new.ask(turn)
        found = diff_between(state, new.state())
        return StateDiff(found.changes, _plan(new.state(), turns))


class _Draft:
    """The state as it becomes."""

    def __init__(self, state: SemanticState) -> None:
        self.lists: dict[str, list[Item]] = {kind: list(state.items(kind)) for kind in KINDS}
        self.taken = {item.id for items in self.lists.values() for item in items}

    def state(self) -> SemanticState:
        return SemanticState(**{kind: tuple(items) for kind, items in self.lists.items()})  # type: ignore[arg-type]

    def put(self, reading: Reading) -> None:
        """Add it, or let it replace what was said of the same."""
        own = self.lists[reading.kind]
        same = [item for item in own if _replaces(reading, item)]
        if same:
            old = same[0]
            if old.text != reading.text:
                own[own.index(old)] = type(old)(id=old.id, text=reading.text, evidence=reading.quote)
            self.lists[reading.kind] = [item for item in own if item not in same[1:]]
            return
        key = next_id(reading.kind, self.taken)
        self.taken.add(key)
        own.append(KINDS[reading.kind](id=key, text=reading.text, evidence=reading.quote))

    def edit(self, sentence: str) -> bool:
        """Whether the sentence edits the list there is."""
        for place, item in enumerate(self.lists["edits"]):
            found = read_edit(sentence, list_items(item.text))
            if found is not None:
                if len(text := list_text(found[0])) <= LONGEST_TEXT:
                    self.lists["edits"][place] = Edit(id=item.id, text=text, evidence=sentence)
                return True
        return False

    def revoke(self, what: str) -> None:
        """Resolve constraints that share words with what is revoked, or that forbid what is allowed again."""
        said, allowed = set(words_of(what)) - _COMMON, parse_check(what)

        def stays(item: Item) -> bool:
            check = parse_check(item.text)
            if check is not None and allowed is not None and exclude(check, allowed):
                return False
            named = _CALLED.get(check.family, frozenset()) if check is not None else frozenset()
            return not said & (set(words_of(item.text)) - _COMMON | named)

        self.lists["constraints"] = [item for item in self.lists["constraints"] if stays(item)]

    def check(self, answer: str) -> None:
        """Set the constraints' status by what the assistant did."""
        for place, item in enumerate(self.lists["constraints"]):
            check = parse_check(item.text)
            if isinstance(item, Constraint) and check is not None:
                status = "satisfied" if check.holds(answer) else "violated"
                self.lists["constraints"][place] = item.model_copy(update={"status": status})

    def ask(self, turn: Turn) -> None:
        """What is asked for and not known is unknown; what has been said since is not any more."""
        known = {subject_of(item) for kind in ("facts", "edits") for item in self.lists[kind]}
        self.lists["unknowns"] = [item for item in self.lists["unknowns"] if subject_of(item) not in known]
        if turn.assistant is None and is_request(turn.user):
            have = known | {subject_of(item) for item in self.lists["unknowns"]}
            for subject in asked_back(turn.user):
                if subject not in have:
                    self.put(Reading("unknowns", f"What {_plain(subject)} is", turn.user, subject))


_COMMON = frozenset((
    "a", "an", "the", "in", "with", "every", "each", "all", "answer", "answers", "answering", "reply", "replies",
    "response", "responses", "word", "words", "use", "using", "write", "writing", "say", "saying", "end", "ending",
    "begin", "to", "of", "i", "me", "my", "mine", "you", "your", "it", "that", "this", "is", "are", "be", "do",
    "not", "don't", "never", "always", "any", "for", "on", "from", "now", "no", "please", "what", "said", "last",
    "message", "question", "about", "at",
))  # fmt: skip
_LIMITS = frozenset(("limit", "length"))
_CALLED = {
    "words": _LIMITS,
    "sentences": _LIMITS,
    "characters": _LIMITS,
    "case": frozenset(("capitals", "caps")),
}
"""What a user may call a constraint of this family."""


def _read_sentence(draft: _Draft, sentence: str) -> None:
    what = read_revocation(sentence)
    if what is not None:
        draft.revoke(what)
    elif not draft.edit(sentence):
        for reading in read_user(sentence):
            draft.put(reading)


def _replaces(reading: Reading, item: Item) -> bool:
    if subject_of(item) == reading.subject:
        return True
    check = parse_check(reading.text) if isinstance(item, Constraint) else None
    other = parse_check(item.text)
    return check is not None and other is not None and exclude(check, other)


def subject_of(item: Item) -> str:
    """What an item is about: two items of one subject replace each other."""
    match item:
        case Constraint():
            check = parse_check(item.text)
            return check.family if check is not None else f"instruction {item.text.casefold()}"
        case Edit():
            return "list"
        case Assumption():
            return f"assumption {item.text.casefold()}"
        case Unknown():
            return _subject(item.text.removeprefix("What ").removesuffix(" is"))
        case Fact():
            return fact_subject(item.text)[0]
    raise AssertionError(item)


def fact_subject(text: str) -> tuple[str, str]:
    """(subject, value) of a fact's sentence; the whole sentence and "" where it has another form."""
    found = re.match(r"(?:The (user's .+?)|(Our .+?)|(The [a-z]+)) is (?:called )?(.+)$", text)
    if found is None:
        return f"about {text.casefold()}", ""
    return _subject(found[1] or found[2] or found[3]), found[4]


def _subject(text: str) -> str:
    return (
        text.removeprefix("the user's ").removeprefix("The ").casefold()
        if text.startswith("The user")
        else (text.casefold())
    )


def _plain(subject: str) -> str:
    return f"the {subject}" if subject.startswith("user's") else subject


def _unsaid(known: Iterable[tuple[str, str]], question: str, answer: str) -> list[Conflict]:
    """What is known of the things that are asked for, and is not in the answer."""
    if not is_request(question):
        return []
    asked = asked_back(question)
    found: list[Conflict] = []
    for key, text in known:
        if text.startswith("The list is ") and "list" in asked:
            if not _gives_list(answer, list_items(text)):
                found.append(Conflict(key, f"the list is not the latest: {text}", exact=True))
            continue
        subject, value = fact_subject(text)
        if value and subject in asked and not _says(answer, value):
            found.append(Conflict(key, f"does not say it: {text}", exact=True))
    return found


def _says(answer: str, value: str) -> bool:
    """Whether anything of the value is in the answer: it may be said in other words, but hardly in none of its own."""
    wanted = set(words_of(value))
    return bool((wanted - _COMMON or wanted) & set(words_of(answer)))


def _gives_list(answer: str, items: Sequence[str]) -> bool:
    """Whether the items stand in the answer one after the other, and no other before or behind them."""
    plain = re.escape(", ".join(items))
    return bool(re.search(rf"(?<!, )\b{plain}\b(?!,| and )", answer, re.I))


def _plan(state: SemanticState, turns: Sequence[Turn]) -> Plan:
    """clarify what is unknown; verify what is asked back, was broken, or was said long ago."""
    question = turns[-1].user if turns[-1].assistant is None else ""
    unknown = [f"not known: {item.text[0].lower()}{item.text[1:]}" for item in state.unknowns]
    if question and unknown:
        return Plan(mode="clarify", reasons=tuple(unknown))
    reasons: list[str] = []
    asked = asked_about(question) if question and is_request(question) else []
    for kind in ("facts", "edits"):
        reasons += [
            f"asked for {item.id}: {item.text}" for item in state.items(kind) if subject_of(item) in asked
        ]
    for item in state.constraints:
        age = _age(item.evidence, turns)
        if item.status == "violated":
            reasons.append(f"{item.id} was not kept in the last answer: {item.text}")
        elif age >= FAR:
            reasons.append(f"{item.id} was said {age} turns ago: {item.text}")
    return Plan(mode="verify" if reasons else "proceed", reasons=tuple(reasons))


def _age(quote: str, turns: Sequence[Turn]) -> int:
    """Turns since the quote was last said."""
    for age, turn in enumerate(reversed(turns)):
        if quote and quote in turn.user:
            return age
    return 0
