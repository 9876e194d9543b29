"""Which environment variables hold what nobody may read in a log."""

from __future__ import annotations

import pytest

from engine.environment_secrets import secret_values


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "hf_token", "CLIENT_SECRET", "PGPASSWORD", "DB_PASS", "DB_PASSWD", "GPG_PASSPHRASE",
             "GIT_CREDENTIALS", "named"],
)  # fmt: skip
def test_a_variable_that_holds_a_secret_is_known_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Six letters are as few as a secret has."""
    for secret in ("zyxomma-1", "zyxomm"):
        monkeypatch.setenv(name, secret)
        assert secret in secret_values(["named"])


@pytest.mark.parametrize(
    ("name", "value"), [("HOME", "zyxomma-1"), ("PWD", "/zyxomma"), ("SOME_KEY", "short")]
)
def test_others_are_left(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Also a value so short that it would stand in ordinary words."""
    monkeypatch.setenv(name, value)
    assert value not in secret_values()


def test_longer_ones_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two keys one may be the beginning of the other: its rest would be left."""
    secrets = ["zyxomma" + "-and" * more for more in range(9)]
    for number, secret in enumerate(secrets):
        monkeypatch.setenv(f"A{number}_KEY", secret)
    assert [value for value in secret_values() if value in secrets] == secrets[::-1]
