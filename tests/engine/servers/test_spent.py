import msgspec

from engine.servers.spent import Spent


def test_everything_is_added_up() -> None:
    assert Spent(1, 20, 0.5) + Spent(2, 300, 0.25) == Spent(3, 320, 0.75)


def test_in_a_file_it_has_all_its_fields_in_their_order() -> None:
    """Lines of several systems hold it; those of older runs are read again."""
    assert msgspec.json.encode(Spent(tokens=7)) == b'{"calls":0,"tokens":7,"cost":0.0}'
