"""The menu and its .config against the configuration itself."""

from __future__ import annotations

from pathlib import Path

import kconfiglib
import pytest

from engine.config.config import Config
from engine.config.file import load_config
from engine.config.kconfig import _as_text, defconfig_text, kconfig_text, leaves, read_kconfig
from engine.errors import ConfigError
from tests.exactly import exactly

CONFIGS = Path(__file__).resolve().parents[3] / "configs"


def yaml(folder: Path, config: str, more: str = "") -> Path:
    """A YAML file beside a .config of these lines."""
    (folder / ".config").write_text(config)
    path = folder / "c.yaml"
    path.write_text("evolution:\n  kconfig: .config\n" + more)
    return path


def test_files_are_those_that_are_made_from_the_fields() -> None:
    """`python -m engine.config.kconfig` writes them anew."""
    assert (CONFIGS / "Kconfig").read_text() == kconfig_text()
    assert (CONFIGS / "evolution_defconfig").read_text() == defconfig_text()


def test_kconfiglib_reads_the_menu_and_writes_the_defaults(tmp_path: Path) -> None:
    """What its menu writes untouched is the default configuration."""
    menu = kconfiglib.Kconfig(str(CONFIGS / "Kconfig"), warn_to_stderr=False)
    assert not menu.warnings
    menu.write_config(str(tmp_path / ".config"))
    values, _ = read_kconfig(tmp_path / ".config")
    assert Config.model_validate(values) == Config()
    assert read_kconfig(CONFIGS / "evolution_defconfig")[0] == values


def test_symbols_are_unique() -> None:
    symbols = [s for leaf in leaves() for s in (leaf.symbol, *map(leaf.choice_symbol, leaf.choices))]
    assert len(symbols) == len(set(symbols))


def test_values_of_every_kind(tmp_path: Path) -> None:
    path = yaml(
        tmp_path,
        "CONFIG_EVOLUTION_ITERATIONS=7\n"
        'CONFIG_EVOLUTION_POOL="[3, 1, 4]"\n'
        'CONFIG_EVOLUTION_TEMPERATURE="0.9"\n'
        'CONFIG_EVOLUTION_FINANCEBENCH="a \\"b\\".jsonl"\n'
        "CONFIG_EVOLUTION_REFLECTOR_KIND_STATISTICAL=y\n"
        "# CONFIG_EVOLUTION_REFLECTOR_KIND_OPENAI is not set\n"
        "CONFIG_CLUSTERS_TRUST_FILES=y\n",
    )
    config = load_config(path)
    found = config.evolution
    assert (found.iterations, found.pool, found.temperature) == (7, [3, 1, 4], 0.9)
    assert found.financebench == 'a "b".jsonl' and found.reflector.kind == "statistical"
    assert config.clusters.trust_files


def test_a_backslash_before_any_sign_is_taken_away(tmp_path: Path) -> None:
    path = yaml(tmp_path, 'CONFIG_EVOLUTION_FINANCEBENCH="c:\\\\data\\x.jsonl"\n')
    assert load_config(path).evolution.financebench == "c:\\datax.jsonl"


def test_texts_of_a_list_are_quoted() -> None:
    assert _as_text(["in a word, please", "3"]) == '["in a word, please", "3"]'


def test_the_yaml_counts_more(tmp_path: Path) -> None:
    path = yaml(tmp_path, "CONFIG_EVOLUTION_ITERATIONS=7\nCONFIG_EVOLUTION_PATIENCE=5\n", "  iterations: 3\n")
    assert load_config(path).evolution.iterations == 3
    assert load_config(path).evolution.patience == 5
    assert load_config(path, ["evolution.patience=2"]).evolution.patience == 2


def test_line_ends_of_another_system_are_read(tmp_path: Path) -> None:
    path = yaml(tmp_path, "")
    (tmp_path / ".config").write_bytes(b"CONFIG_EVOLUTION_ITERATIONS=7\r\nCONFIG_EVOLUTION_PATIENCE=5\r\n")
    found = load_config(path).evolution
    assert (found.iterations, found.patience) == (7, 5)


def test_everything_wrong_is_told_at_once_with_file_and_line(tmp_path: Path) -> None:
    lines = "CONFIG_EVOLUTION_ITERATIONS=many\nCONFIG_NO_SUCH=1\nnonsense\nCONFIG_EVOLUTION_TEMPERATURE=0.9\n"
    with pytest.raises(ConfigError) as caught:
        load_config(yaml(tmp_path, lines))
    told = str(caught.value)
    for number, words in enumerate(("a whole number", "a symbol of", "CONFIG_SYMBOL=value", "quotes"), 1):
        assert f".config:{number}" in told and words in told


def test_a_value_out_of_range_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=exactly(
            "…/.config:1 CONFIG_EVOLUTION_TEMPERATURE evolution.temperature: found 7.5, expected a finite "
            "number at least 0 and at most 5 (configuration): correct this value"
        ),
    ):
        load_config(yaml(tmp_path, 'CONFIG_EVOLUTION_TEMPERATURE="7.5"\n'))


def test_a_config_is_looked_for_beside_the_yaml_or_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".config").write_text("CONFIG_EVOLUTION_ITERATIONS=9\n")
    path = yaml(tmp_path, "CONFIG_EVOLUTION_ITERATIONS=7\n")
    assert load_config(path).evolution.iterations == 7
    path.write_text("evolution: {kconfig: ~/.config}\n")
    assert load_config(path).evolution.iterations == 9


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("evolution: {kconfig: none.config}\n")
    with pytest.raises(
        ConfigError,
        match=exactly(
            "…/none.config: found [Errno 2] No such file or directory: '…', expected a .config as `make "
            "menuconfig` writes it (configuration): correct this value"
        ),
    ):
        load_config(path)


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("CONFIG_EVOLUTION_ITERATIONS=3\nCONFIG_EVOLUTION_ITERATIONS=7\n", 2, "each symbol once"),
        ("CONFIG_EVOLUTION_ITERATIONS=3\n# CONFIG_EVOLUTION_ITERATIONS is not set\n", 2, "each symbol once"),
        (
            "CONFIG_EVOLUTION_REFLECTOR_KIND_OPENAI=y\nCONFIG_EVOLUTION_REFLECTOR_KIND_STATISTICAL=y\n",
            2,
            ".config:1 has chosen another",
        ),
        ("CONFIG_EVOLUTION_REFLECTOR_KIND_OPENAI=maybe\n", 1, "y or n"),
        ("CONFIG_EVOLUTION_REFLECTOR_KIND_OPENAI=\n", 1, "y or n"),
        (f"CONFIG_EVOLUTION_ITERATIONS={'9' * 400}\n", 1, "below 2^63"),
        (f"CONFIG_EVOLUTION_ITERATIONS={'9' * 40_000}\n", 1, "below 2^63"),
        ("CONFIG_EVOLUTION_ITERATIONS=\u0663\n", 1, "a whole number"),
        ('CONFIG_EVOLUTION_FINANCEBENCH="a"b"\n', 1, "for a quote in it"),
        ('CONFIG_EVOLUTION_FINANCEBENCH="a\\"\n', 1, "for a quote in it"),
        ('CONFIG_EVOLUTION_FINANCEBENCH="a\0b"\n', 1, "for a quote in it"),
        ('CONFIG_EVOLUTION_POOL="3"\n', 1, "a list"),
        ('CONFIG_EVOLUTION_POOL="[3, 1"\n', 1, "the end where"),
        (f'CONFIG_EVOLUTION_POOL="[{"9" * 30}]"\n', 1, "below 2^63"),
    ],
)
def test_what_a_menu_never_writes_is_told_with_its_line(
    tmp_path: Path, lines: str, line: int, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(yaml(tmp_path, lines))
    assert f".config:{line} CONFIG_" in str(caught.value) and words in str(caught.value)


def test_a_huge_number_is_refused_in_yaml_too(tmp_path: Path) -> None:
    for number in ("9" * 30, "9" * 30_000, "0x" + "f" * 20):
        with pytest.raises(
            ConfigError,
            match=exactly(
                "…/c.yaml:1: found whole numbers below 2^63, expected valid YAML (configuration): correct "
                "this value"
            ),
        ):
            load_config(yaml(tmp_path, "", f"  iterations: {number}\n"))


def test_a_line_end_that_only_some_know_is_part_of_a_text(tmp_path: Path) -> None:
    path = yaml(tmp_path, 'CONFIG_EVOLUTION_FINANCEBENCH="a\u2028b\x85c"\n')
    assert load_config(path).evolution.financebench == "a\u2028b\x85c"


def test_where_both_say_a_value_that_of_the_yaml_counts_and_is_named(tmp_path: Path) -> None:
    path = yaml(tmp_path, "CONFIG_EVOLUTION_ITERATIONS=5\n", "  iterations: 7\n")
    assert load_config(path).evolution.iterations == 7
    for number, more, place in (("5", "  iterations: 0\n", "c.yaml:3"), ("0", "", ".config:1")):
        with pytest.raises(ConfigError) as caught:
            load_config(yaml(tmp_path, f"CONFIG_EVOLUTION_ITERATIONS={number}\n", more))
        assert f"{place} " in str(caught.value) and "found 0" in str(caught.value)


def test_what_was_a_setting_once_is_read_of_its_kind(tmp_path: Path) -> None:
    """A whole number without quotes, any other within them; another value than it always has now is refused."""
    lines = (
        "CONFIG_CLUSTERS_PCA_DIM=50\nCONFIG_EVOLUTION_FAILURES=3\nCONFIG_EVOLUTION_JUDGE_ATTEMPTS=3\n"
        'CONFIG_EVOLUTION_TARGET=""\nCONFIG_EVOLUTION_SERVER_GRACE="15.0"\nCONFIG_EVOLUTION_REFLECTOR_LIMIT="8"\n'
    )
    assert load_config(yaml(tmp_path, lines)).evolution.failures == 3
    with pytest.raises(ConfigError, match="pca_dim is 50 and can no longer be set"):
        load_config(yaml(tmp_path, "CONFIG_CLUSTERS_PCA_DIM=7\n"))
    with pytest.raises(ConfigError, match=r"\.config:1 CONFIG_CLUSTERS_PCA_DIM: found .*a whole number"):
        load_config(yaml(tmp_path, 'CONFIG_CLUSTERS_PCA_DIM="7"\n'))
