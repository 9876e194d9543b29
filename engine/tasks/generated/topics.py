"""Story frames of the generated word problems: what is counted, how it comes and goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Verb(NamedTuple):
    """One verb in the two tenses that the two kinds of story need."""

    present: str
    past: str


@dataclass(frozen=True)
class Topic:
    """A story frame."""

    noun: str
    gain: Verb
    lose: Verb

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
    Topic("marbles", GETS, LOSES),
    Topic("stamps", BUYS, SELLS),
    Topic("shells", FINDS, DROPS),
    Topic("pens", TAKES, GIVES),
    Topic("kites", MAKES, BREAKS),
    Topic("books", BUYS, SELLS),
    Topic("coins", FINDS, LOSES),
    Topic("cards", GETS, GIVES),
    Topic("plates", BUYS, BREAKS),
    Topic("boxes", TAKES, DROPS),
    Topic("hats", MAKES, SELLS),
    Topic("keys", GETS, LOSES),
    Topic("apples", TAKES, GIVES),
    Topic("tickets", BUYS, SELLS),
    Topic("stones", FINDS, DROPS),
    Topic("cups", MAKES, BREAKS),
    Topic("balls", GETS, LOSES),
    Topic("eggs", TAKES, BREAKS),
    Topic("nuts", FINDS, GIVES),
    Topic("toys", MAKES, SELLS),
)

TOPIC_OF: dict[str, Topic] = {topic.noun: topic for topic in TOPICS}

NAMES: tuple[str, ...] = (
    "Tom", "Ann", "Ben", "Mia", "Sam", "Eva", "Max", "Zoe", "Leo", "Ida", "Kim", "Ray",
    "Amy", "Dan", "Liz", "Hugo", "Nora", "Omar", "Lena", "Ivan", "Sara", "Paul", "Rosa", "Jack",
)  # fmt: skip
