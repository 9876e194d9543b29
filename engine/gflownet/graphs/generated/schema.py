"""Kinds of entities, and the relations between them with the words a question uses for them."""

from __future__ import annotations

from dataclasses import dataclass

SHARES = {
    "person": 0.38,
    "film": 0.20,
    "city": 0.14,
    "company": 0.10,
    "university": 0.05,
    "river": 0.03,
    "award": 0.03,
    "country": 0.015,
    "language": 0.015,
    "profession": 0.01,
    "genre": 0.01,
    "industry": 0.01,
}
"""Kinds and how many of all entities they are."""


@dataclass(frozen=True)
class Relation:
    """Edges from `head` to `tail` entities. `name` is what the graph says, `words` what questions say. A head has
    `least` to `most` of them; `skew` above 1 lets few tails have most edges (hubs)."""

    name: str
    head: str
    tail: str
    words: tuple[str, ...]
    least: int = 1
    most: int = 1
    skew: float = 1.2


RELATIONS = (
    Relation("country capital", "country", "city", ("capital", "seat of government")),
    Relation("country largest city", "country", "city", ("largest city", "biggest town")),
    Relation(
        "country official language",
        "country",
        "language",
        ("official language", "language of the state"),
        1,
        3,
    ),
    Relation("country neighbour", "country", "country", ("neighbour", "bordering country"), 2, 5, 1.0),
    Relation(
        "country main export industry", "country", "industry", ("main export", "leading trade"), 2, 4, 1.0
    ),
    Relation("country head of state", "country", "person", ("head of state", "president")),
    Relation("city located in country", "city", "country", ("country", "nation it belongs to"), 1, 1, 1.6),
    Relation("city lies on river", "city", "river", ("river", "waterway"), 0, 2, 1.4),
    Relation("city twin town", "city", "city", ("twin town", "partner city"), 1, 3, 1.0),
    Relation("city mayor", "city", "person", ("mayor", "head of the city council")),
    Relation("city notable resident", "city", "person", ("notable resident", "famous inhabitant"), 1, 4, 1.1),
    Relation("city local industry", "city", "industry", ("local industry", "trade of the town"), 1, 2, 1.4),
    Relation("river mouth country", "river", "country", ("country of the mouth", "country where it ends")),
    Relation("river tributary", "river", "river", ("tributary", "river that flows into it"), 0, 2, 1.0),
    Relation("person place of birth", "person", "city", ("birthplace", "town of birth"), 1, 1, 1.6),
    Relation(
        "person place of death", "person", "city", ("place of death", "town where they died"), 0, 1, 1.6
    ),
    Relation("person nationality", "person", "country", ("nationality", "home country"), 1, 1, 1.8),
    Relation("person profession", "person", "profession", ("profession", "occupation"), 1, 3, 1.8),
    Relation("person spouse", "person", "person", ("spouse", "husband or wife"), 0, 1, 1.0),
    Relation("person teacher", "person", "person", ("teacher", "mentor"), 0, 2, 1.2),
    Relation("person education", "person", "university", ("university attended", "alma mater"), 0, 2, 1.4),
    Relation("person award won", "person", "award", ("award won", "prize received"), 0, 3, 1.6),
    Relation("person employer", "person", "company", ("employer", "firm worked for"), 0, 2, 1.5),
    Relation("person language spoken", "person", "language", ("language spoken", "tongue"), 1, 3, 1.6),
    Relation("film director", "film", "person", ("director", "person who directed it"), 1, 1, 1.3),
    Relation("film starring actor", "film", "person", ("actor", "star"), 2, 6, 1.3),
    Relation("film composer", "film", "person", ("composer", "author of the music"), 1, 1, 1.3),
    Relation("film genre", "film", "genre", ("genre", "kind of film"), 1, 3, 1.6),
    Relation(
        "film country of origin", "film", "country", ("country of production", "land of origin"), 1, 1, 1.8
    ),
    Relation("film production company", "film", "company", ("studio", "production firm"), 1, 2, 1.5),
    Relation("film language", "film", "language", ("language of the film", "spoken language"), 1, 2, 1.6),
    Relation(
        "film filmed in city", "film", "city", ("filming location", "town where it was shot"), 1, 3, 1.4
    ),
    Relation(
        "company headquarters", "company", "city", ("headquarters", "city of the head office"), 1, 1, 1.5
    ),
    Relation("company founder", "company", "person", ("founder", "person who started it"), 1, 3, 1.0),
    Relation("company industry", "company", "industry", ("industry", "line of business"), 1, 2, 1.6),
    Relation("company chief executive", "company", "person", ("chief executive", "managing director")),
    Relation("company subsidiary", "company", "company", ("subsidiary", "daughter company"), 0, 3, 1.0),
    Relation("university located in city", "university", "city", ("university town", "city of the campus")),
    Relation("university president", "university", "person", ("president", "rector")),
    Relation("university notable alumnus", "university", "person", ("alumnus", "former student"), 1, 4, 1.2),
    Relation("award field", "award", "profession", ("field", "discipline it honours")),
)
PARALLEL = {
    "person place of birth": "person place lived",
    "city located in country": "city administrative division of",
    "film director": "film written by",
    "company headquarters": "company place founded",
    "person nationality": "person country of residence",
}
"""A second relation that often holds between the same two entities: parallel edges."""
