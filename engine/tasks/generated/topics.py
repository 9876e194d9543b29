"""Story frames of the generated word problems: what is counted, how it comes and goes, which habit it invites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Habit = Literal["careful", "turned", "hasty"]
"""How a solution goes about a problem.

careful: applies a story told forwards, undoes one told backwards. turned: takes the story for one of the other
kind, so every operation has the wrong sign. hasty: the right sign, but carries and borrows are dropped.
"""

HABITS: tuple[Habit, ...] = ("careful", "turned", "hasty")


class Verb(NamedTuple):
    """One verb in the two tenses that the two kinds of story need."""

    present: str
    past: str


@dataclass(frozen=True)
class Topic:
    """A story frame.

    shares: probability that a solution opens in each habit, in the order of `HABITS`; sums to 1. The largest share
    is the habit of greedy decoding; sampling also reaches the others.
    """

    noun: str
    gain: Verb
    lose: Verb
    shares: tuple[float, float, float]

    @property
    def dominant(self) -> Habit:
        """The habit in which most solutions of this topic open."""
        return HABITS[self.shares.index(max(self.shares))]

    def verb(self, operation: int, kind: str) -> str:
        """The word for a signed operation, in the tense of a story of this kind."""
        verb = self.gain if operation > 0 else self.lose
        return verb.present if kind == "forwards" else verb.past


GETS, LOSES = Verb("gets", "got"), Verb("loses", "lost")
BUYS, SELLS = Verb("buys", "bought"), Verb("sells", "sold")
FINDS, DROPS = Verb("finds", "found"), Verb("drops", "dropped")
TAKES, GIVES = Verb("takes", "took"), Verb("gives", "gave")
MAKES, BREAKS = Verb("makes", "made"), Verb("breaks", "broke")

TOPICS: tuple[Topic, ...] = (
    Topic("marbles", GETS, LOSES, (0.66, 0.18, 0.16)),
    Topic("stamps", BUYS, SELLS, (0.70, 0.18, 0.12)),
    Topic("shells", FINDS, DROPS, (0.62, 0.22, 0.16)),
    Topic("pens", TAKES, GIVES, (0.66, 0.20, 0.14)),
    Topic("kites", MAKES, BREAKS, (0.70, 0.16, 0.14)),
    Topic("books", BUYS, SELLS, (0.64, 0.20, 0.16)),
    Topic("coins", FINDS, LOSES, (0.68, 0.18, 0.14)),
    Topic("cards", GETS, GIVES, (0.62, 0.20, 0.18)),
    Topic("plates", BUYS, BREAKS, (0.66, 0.20, 0.14)),
    Topic("boxes", TAKES, DROPS, (0.64, 0.22, 0.14)),
    Topic("hats", MAKES, SELLS, (0.68, 0.16, 0.16)),
    Topic("keys", GETS, LOSES, (0.66, 0.18, 0.16)),
    Topic("apples", TAKES, GIVES, (0.32, 0.62, 0.06)),
    Topic("tickets", BUYS, SELLS, (0.30, 0.64, 0.06)),
    Topic("stones", FINDS, DROPS, (0.34, 0.60, 0.06)),
    Topic("cups", MAKES, BREAKS, (0.30, 0.64, 0.06)),
    Topic("balls", GETS, LOSES, (0.32, 0.62, 0.06)),
    Topic("eggs", TAKES, BREAKS, (0.32, 0.06, 0.62)),
    Topic("nuts", FINDS, GIVES, (0.30, 0.06, 0.64)),
    Topic("toys", MAKES, SELLS, (0.32, 0.08, 0.60)),
)

TOPIC_OF: dict[str, Topic] = {topic.noun: topic for topic in TOPICS}

NAMES: tuple[str, ...] = (
    "Tom", "Ann", "Ben", "Mia", "Sam", "Eva", "Max", "Zoe", "Leo", "Ida", "Kim", "Ray",
    "Amy", "Dan", "Liz", "Hugo", "Nora", "Omar", "Lena", "Ivan", "Sara", "Paul", "Rosa", "Jack",
)  # fmt: skip
