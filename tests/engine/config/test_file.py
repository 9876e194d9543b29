from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.config import yaml_text
from engine.config.config import Config
from engine.config.file import dump_config, load_config
from engine.config.models.model import ModelSection
from engine.config.models.openai import OpenAISection
from engine.config.scale import ScaleSection
from engine.config.schema import allowed_words
from engine.config.yaml_text import parse
from engine.errors import ConfigError, Problem
from tests.exactly import exactly

FILES = "demonstrations: {questions: q, annotations: a, embeddings: e}"
DEEP = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 25))


def problems(path: Path, text: str, *overrides: str) -> list[Problem]:
    path = path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    return caught.value.problems


def only(path: Path, text: str, *overrides: str) -> Problem:
    (problem,) = problems(path, text, *overrides)
    return problem


def test_all_errors_of_a_file_come_at_once(tmp_path: Path) -> None:
    """A user who has to mend one error a try gives up."""
    text = "run: {stages: [mine, evl]}\nonline:\n  L: 0\n  recrd_null: true\nmdoel: {}\nrun: {seed: 1}\n"
    found = "\n".join(map(str, problems(tmp_path, text, "online.k_retrieve=x")))
    for expected in (
        "c.yaml:6 run: found the key again",
        "c.yaml:3 online.L: found 0, expected a whole number at least 1",
        "did you mean `online.record_null`?",
        "did you mean `model`?",
        "--set online.k_retrieve: found 'x'",
    ):
        assert expected in found


def test_a_wrong_value_that_takes_the_place_of_the_file_s_is_not_put_down_to_the_file(tmp_path: Path) -> None:
    assert only(tmp_path, "online:\n  L: 3\n", "online.L=x").where == "--set online.L"


def test_unknown_stage_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    problem = only(tmp_path, "run:\n  stages: [mine, evl]\n")
    assert problem.where.endswith("c.yaml:2 run.stages[1]")
    assert problem.allowed.startswith("one of mine, select, memory, eval") and "`eval`" in problem.allowed


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ("[eval, eval]", "each stage once"),
        ("[select, mine]", "`mine` before `select`"),
        ("['a:1']", "one of "),
    ],
)
def test_stages_that_cannot_be_run_in_this_order(tmp_path: Path, stages: str, expected: str) -> None:
    assert expected in only(tmp_path, f"run: {{stages: {stages}}}").allowed


def test_a_later_stage_alone_is_allowed(tmp_path: Path) -> None:
    """`eval` over the files of an earlier attempt; the stage itself says what it misses."""
    path = tmp_path / "c.yaml"
    path.write_text("run: {stages: [eval]}")
    assert load_config(path).run.stages == ["eval"]


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("online: {L: 3.5}", "a whole number at least 1"),
        ("online: {L: '3'}", "a whole number at least 1"),
        ("online: {record_null: yes}", "true or false"),
        ("online: {record_null: 1}", "true or false"),
        ("online: {beta: .nan}", "a finite number"),
        ("online: {min_sim: 2}", "at least -1 and at most 1"),
        ("offline_mine: {temperature: 0}", "a finite number above 0 and at most 5"),
        ("model: {vllm: {gpu_memory_utilization: 0}}", "a finite number above 0 and at most 1"),
        ("online: {max_tool_m: 0}", "a whole number at least 1 or null"),
        ("run: {seed: -1}", "a whole number at least 0"),
        ("run: {name: ../x}", "letters, digits and . _ - (80 at most"),
        ("run: {name: 1}", "letters, digits and . _ - (80 at most"),
        ("run: {stages: []}", "a list (at least 1)"),
        ("eval: {methods: [esm, foo]}", "one of greedy, majority_vote, esm"),
        ("model: {device: tpu}", "one of auto, cpu, cuda, mps"),
        ("decode:", "a mapping of max_new_tokens, temperature"),
        (
            "model: {backend: transformers}",
            "`model.path` for backend `transformers`: a model folder, a GGUF file or a hub name",
        ),
        ("pool: {dataset: files}", "dataset `files` needs `files.demonstrations`"),
        (f"pool: {{dataset: files, files: {{{FILES}}}}}", "dataset `files` needs `rl_data`"),
        (
            f"pool: {{dataset: files, files: {{{FILES}}}, rl_data: r}}",
            "vqa.kind `digits` answers questions about digits only: choose `openai`",
        ),
        (
            "pool: {positive_quota: 8, partial_quota: 5}",
            "positive_quota and partial_quota are more than target_trajectory_count together",
        ),
    ],
)
def test_nothing_is_converted(tmp_path: Path, line: str, allowed: str) -> None:
    assert allowed in only(tmp_path, line).allowed


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("online: {max_tool_m: x}", "online.max_tool_m"),
        ("evolution: {pool: 3}", "evolution.pool"),
        ("evolution: {pool: [a, b]}", "evolution.pool"),
        ("evolution: {model: {pth: a}}", "evolution.model.pth"),
        ("evolution: {judge: {kind: 3}}", "evolution.judge.kind"),
        ("evolution: {server: {}, model: {path: 3}}", "evolution.model.path"),
        ("eval: {methods: [esm, foo]}", "eval.methods[1]"),
        ("model: {vllm: {engine_args: {a: [1]}}}", "model.vllm.engine_args.a"),
    ],
)
def test_of_a_value_that_may_have_several_forms_the_field_is_named(
    tmp_path: Path, line: str, field: str
) -> None:
    """Once, and without the form that it has not."""
    assert only(tmp_path, line).where == f"{tmp_path / 'c.yaml'}:1 {field}"


def test_names_that_are_the_user_s_own_can_be_set(tmp_path: Path) -> None:
    """Arguments of vLLM's engine: any name, and one value; what a value may be is said in words."""
    path = tmp_path / "c.yaml"
    path.write_text("model: {backend: vllm, path: m, vllm: {engine_args: {enforce_eager: true}}}")
    config = load_config(path, ["model.vllm.engine_args.quantization=fp8"])
    assert config.model.vllm.engine_args == {"enforce_eager": True, "quantization": "fp8"}
    problem = only(tmp_path, "model: {}", "model.vllm.engine_args.a=[1]")
    assert str(problem) == (
        "--set model.vllm.engine_args.a: found [1], expected true or false or a whole number or a finite number or text"
    )
    assert "a known field" in only(tmp_path, "model: {}", "model.vllm.engine_args.a.b=1").allowed
    assert "a known field" in only(tmp_path, "model: {}", "model.vllm.no_such.a=1").allowed


@pytest.mark.parametrize("doubles", [40, 41, 43])
def test_keys_that_stand_twice_are_counted_with_the_problems(tmp_path: Path, doubles: int) -> None:
    """Nothing else is wrong with the file."""
    found = problems(tmp_path, "run: {seed: 1}\n" * (doubles + 1))
    listed = [problem.where for problem in found[:40]]
    assert listed == [f"{tmp_path / 'c.yaml'}:{number} run" for number in range(2, 42)]
    further = [str(problem) for problem in found[40:]]
    assert further == ([f"and {doubles - 40} more"] if doubles > 40 else [])


@pytest.mark.parametrize("wrong", [40, 41, 45])
def test_what_is_not_listed_of_many_wrong_overrides_is_counted(tmp_path: Path, wrong: int) -> None:
    found = problems(tmp_path, "", *(f"online.no_such_{number}=1" for number in range(wrong)))
    further = [str(problem) for problem in found[40:]]
    assert further == ([f"and {wrong - 40} more"] if wrong > 40 else [])


def test_what_a_field_allows_reads_like_a_sentence() -> None:
    """Of every kind that a schema can have: words, a word, bounds, lists, patterns, sections."""
    kinds = {
        "one of a, b": {"enum": ["a", "b"]},
        "one of a": {"const": "a"},
        "a whole number at least 1 and at most 5": {"type": "integer", "minimum": 1, "maximum": 5},
        "a finite number above 0 and below 0.5": {
            "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5,
        },
        "a finite number at least 0 and at most 2.5": {"type": "number", "minimum": 0.0, "maximum": 2.5},
        "a list (at least 2), each text, not empty": {
            "type": "array", "minItems": 2, "items": {"type": "string", "minLength": 1},
        },
        "a list, each a value": {"type": "array"},
        "true or false or null": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "a mapping of names to values": {"type": "object"},
        "a mapping of a, b": {"type": "object", "properties": {"a": {}, "b": {}}},
        "letters": {"type": "string", "words": "letters", "pattern": "a", "maxLength": 3},
        "text": {"type": "string"},
    }  # fmt: skip
    assert [allowed_words(schema) for schema in kinds.values()] == list(kinds)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1\nb: 2\n", 2),
        ("run:\n\tname: x\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: &x [*x]", 1),
        pytest.param(f"#\n{DEEP}", 2, id="deep"),
        pytest.param("".join(f"k{number}: 1\n" for number in range(20_000)), 20_000, id="many"),
    ],
)
def test_yaml_errors_name_the_line(tmp_path: Path, text: str, line: int) -> None:
    assert only(tmp_path, text).where == f"{tmp_path / 'c.yaml'}:{line}"


def test_what_is_no_yaml_is_said_in_words(tmp_path: Path) -> None:
    """What stands there and what should, without the parser's signs; else what is wrong where. 300 letters of it."""
    assert only(tmp_path, "a: [1").value == "the end where ',' or ']' should stand"
    assert only(tmp_path, "a: {b: [1] c}").value == "a value where ',' or '}' should stand"
    assert (
        only(tmp_path, "a:\n  b: 1\n c: 2").value
        == "another indent where the indent of the lines before should stand"
    )
    assert only(tmp_path, "a: 'x").value == "while scanning a quoted scalar: found unexpected end of stream"
    shown = [str(yaml_text.YamlError("x" * length, 1)) for length in (300, 301)]
    assert shown == ["x" * 300, f"{'x' * 300}…"]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def chain(repeated: str) -> str:
    """Each of 20 mappings holds the one before as often as `repeated` says, under a key that occurs again."""
    return "a0: &a0 {x: 1}\n" + "".join(
        f"a{number}: &a{number} {{{repeated.replace('@', f'*a{number - 1}')}}}\n" for number in range(1, 20)
    )


def test_values_that_aliases_nest_too_deeply_are_refused(tmp_path: Path) -> None:
    problem = only(tmp_path, f"#\n{DEEP}")
    assert problem.value == "values are nested more than 24 deep"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "more than 20,000 values"),
        (chain("<<: @, <<: @, <<: @, <<: @"), "more than 20,000 values"),
        (chain("<<: [@, @, @, @]"), "more than 20,000 values"),
        (chain("x: @, x: @, x: @, x: @"), "more than 20,000 values"),
        (
            "? ["
            + "".join(f"&a{n} [*a{n - 1}, *a{n - 1}], " for n in range(1, 22)).replace("*a0", "x")
            + "]\n: 1",
            "a key that is a list or a mapping",
        ),
        ("".join(f"k{number}: 1\n" for number in range(600_000)), "more than 262,144 characters"),
        ("x: " + "[" * 3000 + "]" * 3000, "nested more than 24 deep"),
        ("x: " + "[" * 30 + "]" * 30, "nested more than 24 deep"),
        ("x: " + "[" * 100_000, "nested more than 24 deep"),
    ],
    ids=[
        "billion laughs",
        "merges",
        "lists of merges",
        "doubles",
        "a key",
        "many keys",
        "deep",
        "not so deep",
        "deep and open",
    ],
)
def test_what_is_far_too_large_is_one_clear_line(tmp_path: Path, text: str, told: str) -> None:
    began = time.process_time()
    assert told in only(tmp_path, text).value
    assert time.process_time() - began < 2


def test_values_that_are_nested_too_deeply_are_told_with_their_line(tmp_path: Path) -> None:
    text = "run:\n  seed: 1\nx: " + "[" * 30 + "]" * 30 + "\n"
    assert only(tmp_path, text).where == f"{tmp_path / 'c.yaml'}:3"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("!!python/object/apply:os.system [ls]", "the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
        ("!!binary aGk=", "the tag"),
        ("!!set {x}", "the tag"),
        ("!!timestamp soon", "the tag"),
        ("!!bool perhaps", "neither true nor false"),
        ("!!bool yes", "'yes' is neither true nor false"),
        (f"!!bool {'x' * 61}", f"'{'x' * 60}' is neither true nor false"),
        (f"!{'%1b' * 5000} x", "the tag"),
    ],
    ids=["python", "binary", "set", "timestamp", "bool", "bool of YAML 1.1", "long bool", "long"],
)
def test_tags_are_one_clear_line(tmp_path: Path, value: str, told: str) -> None:
    problem = only(tmp_path, f"run:\n  name: {value}\n")
    assert told in problem.value and len(problem.value) < 400 and "\x1b" not in problem.value
    assert problem.where.startswith(str(tmp_path / "c.yaml"))


def test_a_key_of_any_length_and_letters_is_told_shortly(tmp_path: Path) -> None:
    problem = only(tmp_path, f'run:\n  ? "\\e[31m{"k" * 100_000}"\n  : 1\n')
    assert len(problem.where) < 400 and problem.where.endswith("…")
    assert r"\x1b[31mkkk" in problem.where


@pytest.mark.parametrize(
    ("letters", "shown"), [(58, f"'{'v' * 58}'"), (59, f"'{'v' * 58}…"), (1000, f"'{'v' * 58}…")]
)
def test_of_a_long_value_60_letters_are_shown(tmp_path: Path, letters: int, shown: str) -> None:
    problem = only(tmp_path, f"online: {{L: {'v' * letters}}}")
    assert problem.value == shown and len(shown) == 60


@pytest.mark.parametrize(("letters", "shown"), [(60, "k" * 60), (61, f"{'k' * 59}…")])
def test_of_a_long_key_60_letters_are_shown(tmp_path: Path, letters: int, shown: str) -> None:
    assert only(tmp_path, f"online: {{{'k' * letters}: 1}}").where.endswith(f":1 online.{shown}")


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("pth: geheim", "'geheim'"),
        ("pth: 3", "3"),
        ("my_API_key: geheim", "a text that is not repeated here"),
        ("APIKEY: geheim", "a text that is not repeated here"),
        ("passwords: geheim", "a text that is not repeated here"),
        ("the_secret: geheim", "a text that is not repeated here"),
        ("hf_token: geheim", "a text that is not repeated here"),
        ("hf_token: 3", "3"),
    ],
)
def test_a_text_under_an_unknown_name_is_repeated_unless_it_may_be_a_key(
    tmp_path: Path, field: str, shown: str
) -> None:
    assert only(tmp_path, f"model: {{{field}}}").value == shown


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9223372036854775807", (1 << 63) - 1), ("-9223372036854775807", 1 - (1 << 63)),
        ("9223372036854775808", None), ("-9223372036854775808", None), ("0x7fffffffffffffff", (1 << 63) - 1),
        ("0x8000000000000000", None), ("0o17", 15), (f"{'0' * 98}7", 7), (f"{'0' * 99}7", None),
    ],
)  # fmt: skip
def test_whole_numbers_have_63_bits(text: str, number: int | None) -> None:
    if number is not None:
        assert parse(text).value == number
    else:
        with pytest.raises(yaml_text.YamlError, match=exactly("whole numbers below 2^63")):
            parse(text)


@pytest.mark.parametrize(("deep", "read"), [(23, True), (24, True), (25, False), (26, False)])
def test_values_may_be_nested_24_deep(deep: int, read: bool) -> None:
    text = f"x: {'[' * deep}{']' * deep}"
    if read:
        assert parse(text).value["x"] is not None
    else:
        with pytest.raises(yaml_text.YamlError, match="nested more than 24 deep"):
            parse(text)


def test_of_very_many_problems_the_first_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("".join(f"k{number}: 1\n" for number in range(5000)))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert len(caught.value.problems) == 41 and str(caught.value).endswith(
        "a known field; and 4,960 more (configuration): correct these 41 values"
    )


@pytest.mark.parametrize(
    "override",
    [
        "evolution.judge.openai.base_url=http://me:geheim@h/v1",
        "geheim",
        "modelgeheim",
        "online.L=[geheim",
        "a b geheim=1",
        "evolution.judge.openai.api_key_env=sk-geheim",
    ],
)
def test_overrides_are_not_repeated(tmp_path: Path, override: str) -> None:
    """A value may be a password, or a key."""
    with pytest.raises(ConfigError) as caught:
        path = tmp_path / "c.yaml"
        path.write_text("{}")
        load_config(path, [override])
    assert "geheim" not in str(caught.value)


def test_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=exactly(
            "…/none.yaml: expected a YAML file that can be read: no such file or directory (configuration): "
            "correct this value"
        ),
    ):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(
        ConfigError,
        match=exactly(
            "…: expected a YAML file that can be read: is a directory (configuration): correct this value"
        ),
    ):
        load_config(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(b"run: \xff")
    with pytest.raises(
        ConfigError,
        match=exactly(
            "…/bytes.yaml: found byte 5 is not UTF-8, expected YAML in UTF-8 (configuration): correct this "
            "value"
        ),
    ):
        load_config(tmp_path / "bytes.yaml")
    assert (
        str(only(tmp_path, "#\n- 1\n")) == f"{tmp_path}/c.yaml:1: found [1], expected a mapping of sections"
    )


def test_overrides_are_yaml_values(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("online: {L: 2}")
    sets = [" online.L =4", "eval.methods=[esm]", "online.beta=1e-1", "task.path=null", "prompt.system=a=b"]
    config = load_config(path, sets)
    assert (config.online.L, config.eval.methods, config.online.beta) == (4, ["esm"], 0.1)
    assert config.task.path is None and config.prompt.system == "a=b"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("online.LL=4", "did you mean `online.L`?"),
        ("online.l=3", "did you mean `online.L`?"),
        ("probe_tokens=4", "did you mean `online.probe_tokens`?"),
        ("onlin.L=4", "did you mean `online.L`?"),
        ("onlin.xyzzy=4", "did you mean section `online`?"),
        ("run.vxtes=4", "did you mean `eval.votes`?"),
        ("mdoel.path=4", "did you mean `model.path`?"),
        ("slsm.controller.modle=4", "did you mean `slsm.controller.openai.model`?"),
        ("online.L.x=4", "a known field"),
        ("online.L", "section.field=value"),
        ("online.L=[", "a YAML value"),
    ],
)
def test_overrides_that_lead_nowhere(tmp_path: Path, override: str, expected: str) -> None:
    problem = only(tmp_path, "{}", override)
    assert expected in problem.allowed and not problem.value, "what was typed stands before it"


@pytest.mark.parametrize("override", ["online.xyzzy=4", "run.pxrt=4"])
def test_nothing_is_guessed_where_nothing_is_like_it(tmp_path: Path, override: str) -> None:
    """The section is right; of four letters three are not enough: `port` is another section's."""
    assert only(tmp_path, "{}", override).allowed == "a known field"


def test_what_of_an_override_can_be_shown(tmp_path: Path) -> None:
    """A text that is no field's name may be anything: it is said which word it is."""
    found = [
        (problem.where, problem.value)
        for override in ("onlin.L=4", "a b=4", "a b", "onlin.L", "=geheim", "online.L=[")
        for problem in problems(tmp_path, "{}", override)
    ]
    hidden = "a text that is not repeated here"
    assert found == [
        ("--set onlin.L", ""), ("--set", hidden), ("--set", "no field in word 1"),
        ("--set onlin.L", ""), ("--set", "no field in word 1"), ("--set online.L", ""),
    ]  # fmt: skip


def test_a_section_without_anything_in_it_is_told_as_nothing(tmp_path: Path) -> None:
    assert only(tmp_path, "decode:\n").value == "nothing"


@pytest.mark.parametrize("override", ["run.name=my run", "task.compare=exactly"])
def test_what_a_text_may_be_is_said_in_words(tmp_path: Path, override: str) -> None:
    """A regular expression tells a newcomer nothing."""
    assert "^" not in only(tmp_path, "{}", override).allowed


def test_override_of_a_broken_section_reports_the_section(tmp_path: Path) -> None:
    assert only(tmp_path, "online: 3", "online.L=4").value == "3"


def test_written_configuration_reads_back(tmp_path: Path) -> None:
    config = Config()
    path = tmp_path / "c.yaml"
    path.write_text(dump_config(config))
    assert load_config(path) == config


def test_empty_file_is_the_default_configuration(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("# nothing yet\n")
    assert load_config(path) == Config()


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"))
)


@given(st.dictionaries(st.text("abc", min_size=1), _SCALARS | st.lists(_SCALARS, max_size=3), max_size=4))
def test_any_value_survives_yaml(value: dict[str, object]) -> None:
    """`1e3`, `no`, `010`, `1:30` as text must come back as text, numbers as the same numbers."""
    assert repr(yaml_text.parse(yaml_text.dump(value)).value) == repr(value)


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_a_line_end_of_unicode_survives_yaml(end: str) -> None:
    assert yaml_text.parse(yaml_text.dump({"a": f"x{end}y"})).value == {"a": f"x{end}y"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("010", 10),
        ("0x1f", 31),
        ("1:30", "1:30"),
        ("no", "no"),
        ("2020-01-01", "2020-01-01"),
    ],
)
def test_values_are_what_they_look_like(text: str, value: object) -> None:
    assert yaml_text.parse(text).value == value


def test_a_section_that_may_be_missing_is_known_by_its_fields(tmp_path: Path) -> None:
    """`evolution.model` is a section or nothing: its fields can be set, and wrong ones are told by name."""
    path = tmp_path / "config.yaml"
    path.write_text("{}\n")
    config = load_config(path, ["evolution.model.path=statements"])
    assert config.evolution_model.path == "statements"
    with pytest.raises(
        ConfigError,
        match=exactly(
            "--set evolution.model.pth: expected a known field; did you mean `evolution.model.path`? "
            "(configuration): correct this value"
        ),
    ):
        load_config(path, ["evolution.model.pth=statements"])


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (
            "slsm: {judge: {openai: {base_url: 'http://someone:geheim-7@host/v1'}}}",
            "slsm.judge.openai.base_url",
        ),
        (
            "slsm: {judge: {openai: {base_url: 'http://someone:12/geheim-7@host/v1'}}}",
            "slsm.judge.openai.base_url",
        ),
        ("scale: {engine: ray, address: 'ray://someone:geheim-7@host:10001'}", "scale"),
        ("task: {path: 'https://someone:geheim-7@host/data'}", "task.path"),
        ("evolution: {financebench: 'hub:x', pool: ['http://someone:geheim-7@host']}", "evolution.pool[0]"),
        (
            "evolution: {validation_size: 2, test_size: 2, brief_prompts: [Briefly., 'http://someone:geheim-7@host']}",
            "evolution.brief_prompts[1]",
        ),
        (
            "evolution: {server: {command: 'run --proxy http://someone:geheim-7@host'}}",
            "evolution.server.command",
        ),
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(
    tmp_path: Path, line: str, field: str
) -> None:
    (tmp_path / "c.yaml").write_text(line)
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "c.yaml")
    assert field in str(caught.value) and "geheim" not in str(caught.value)
    assert "geheim" not in repr(caught.value.args)


@pytest.mark.parametrize("gpus", [0.0, 0.0001, 0.25, 1.0, 2.0, 3.0, 64.0])
def test_gpus_that_a_replica_can_have(gpus: float) -> None:
    assert ScaleSection(gpus_per_replica=gpus).gpus_per_replica == gpus


@pytest.mark.parametrize("gpus", [0.00005, 1.0001, 1.5, 2.5, 64.5, -0.5])
def test_gpus_that_no_replica_can_have(gpus: float) -> None:
    said = (
        "a whole number of GPUs, or below 1 a multiple of 0.0001" if 0 <= gpus <= 64 else "than or equal to"
    )
    with pytest.raises(ValidationError, match=said):
        ScaleSection(gpus_per_replica=gpus)


@pytest.mark.parametrize(
    ("address", "is_one"),
    [("auto", True), ("h.x:6379", True), ("ray://h:10001", True), ("[::1]:80", True), ("h", False), ("h:", False),
     ("h:123456", False), ("http://h:1", False), ("ray://me:pass@h:1", False), ("", False)],
)  # fmt: skip
def test_addresses_of_clusters(address: str, is_one: bool) -> None:
    said = "an address like auto, host:port or ray://host:port, without user and password"
    if is_one:
        assert ScaleSection(address=address).address == address
        return
    with pytest.raises(ValidationError, match=said):
        ScaleSection(address=address)


def test_a_backend_other_than_the_embedded_needs_a_path() -> None:
    for backend in ("transformers", "vllm"):
        said = f"`model.path` for backend `{backend}`: a model folder, a GGUF file or a hub name"
        for path in (None, ""):
            with pytest.raises(ValidationError, match=said):
                ModelSection.model_validate({"backend": backend, "path": path})
    with pytest.raises(ValidationError, match="is for the backends `embedded` and `transformers`"):
        ModelSection(backend="vllm", path="m", dtype="int8", device="cpu")
    assert ModelSection(backend="transformers", path="m", dtype="int8").path == "m"
    assert ModelSection(dtype="int8").path is None


def test_numbers_may_have_a_sign() -> None:
    text = "[+1.5, -1.5, +2, -2, +.5, +1e3, .5, 1e-3]"
    assert parse(text).value == [1.5, -1.5, 2, -2, 0.5, 1000.0, 0.5, 0.001]


def test_a_server_can_be_asked_at_a_temperature_of_2_at_most() -> None:
    assert OpenAISection(temperature=2).temperature == 2
    with pytest.raises(ValidationError):
        OpenAISection(temperature=2.1)
