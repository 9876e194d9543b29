"""Before a run starts: the check and the form."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runs.start_check import StartCheck, check_start
from app.runs.start_form import (
    Heading,
    StageBox,
    StartForm,
    field_problem_words,
    split_changes,
)
from engine.check.finding import Finding
from engine.config.config import Config
from engine.config.file import load_config
from engine.config.form import FormField, as_typed, form_fields, value_at
from engine.errors import ConfigError, Problem
from tests.exactly import exactly

CONFIGS = sorted((Path(__file__).resolve().parents[3] / "configs").glob("*.yaml"))
DEMO = next(path for path in CONFIGS if path.stem == "demo")


def field(path: str) -> FormField:
    return next(field for field in form_fields() if field.path == path)


def test_form_has_every_field_with_help_and_a_default_that_reads_back(tmp_path: Path) -> None:
    config = Config().model_dump(mode="json")
    fields = form_fields()
    assert len({one.path for one in fields}) == len(fields) > 350
    assert all(one.help and one.allowed for one in fields)
    changes = []
    for one in fields:
        try:
            assert as_typed(value_at(config, one.path)) == one.default, one.path
        except KeyError:
            continue
        changes.append(f"{one.path}={one.default}")
    empty = tmp_path / "empty.yaml"
    empty.write_text("{}\n")
    assert load_config(empty, changes) == Config()
    assert field("decode.max_new_tokens").kind == "whole number"
    assert field("model.backend").choices == ("embedded", "transformers", "vllm")
    assert field("evolution.model.path").section == "evolution.model"


def test_form_values_come_from_default_file_and_changes() -> None:
    form = StartForm(DEMO, ["online.L=7"])
    assert form.value(field("online.L")) == ("7", "changed")
    assert form.value(field("task.train_size")) == ("300", "file")
    assert form.value(field("run.seed")) == ("0", "default")
    form.put("online.L", "3", form.in_file(field("online.L")))
    assert form.changes == [], "what the file says is no change"
    form.put("online.L", " 4 ", "3")
    assert form.changes == ["online.L=4"]
    form.put("online.L", " 3 ", "3")
    assert form.changes == [], "spaces around it are none"
    form.put("decode.max_new_tokens", "many", "200")
    assert "a whole number" in form.problem() and "decode.max_new_tokens" in form.problem()
    assert "at least 1" in form.problem_of(field("decode.max_new_tokens"), "0")
    assert form.problem_of(field("decode.max_new_tokens"), "20") == ""


def test_stages_are_ticked_in_their_order() -> None:
    form = StartForm(DEMO, [])
    whole = form.stages
    for name in whole:
        if name not in ("eval", "clusters"):
            form.toggle_stage(name)
    form.toggle_stage("mine")
    assert form.stages == ["mine", "eval", "clusters"]
    assert load_config(DEMO, form.changes).run.stages == form.stages
    for name in whole:
        if name not in form.stages:
            form.toggle_stage(name)
    assert form.stages == whole and form.changes == []


@pytest.mark.parametrize(
    ("text", "stages"), [("[mine, eval]", ["mine", "eval"]), ("[", None), ("mine", None), ("{a: 1}", None)]
)
def test_what_is_no_list_of_stages_changes_none(text: str, stages: list[str] | None) -> None:
    form = StartForm(DEMO, [f"run.stages={text}"])
    assert form.stages == (stages or load_config(DEMO).run.stages)


def test_rows_are_searched_and_used_sections_come_first() -> None:
    form = StartForm(DEMO, ['run.stages=["slsm"]'])
    headings = [row for row in form.rows() if isinstance(row, Heading)]
    used = [row.name for row in headings if row.used]
    assert used[:2] == ["stages", "run"] and "slsm" in used and "slsm.model" in used and "online" not in used
    assert [row.used for row in headings] == sorted((row.used for row in headings), reverse=True)
    found = [row.path for row in form.rows("length probe") if isinstance(row, FormField)]
    assert "online.probe_tokens" in found, "its help has one word, its name the other"
    assert all("probe" in (path + field(path).help).lower() for path in found)
    assert [row.path for row in form.rows("online.probe_tok") if isinstance(row, FormField)] == [
        "online.probe_tokens"
    ]
    assert [row.name for row in form.rows("stages evolve") if isinstance(row, StageBox)] == ["evolve"]
    assert form.rows("no such thing") == []


def test_check_tells_differences_mistakes_and_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("engine.check.requirements.package_version", lambda name: "")
    good = check_start(DEMO, ["online.L=5", "task.eval_size=20"])
    assert (
        good.differences == (("task.eval_size", "200", "20"), ("online.L", "3", "5")) and good.error is None
    )
    as_in_file = check_start(DEMO, ["online.L=3", "task.eval_size=20"])
    assert as_in_file.unchanged == ("online.L",) and good.unchanged == ()
    assert "here" not in {finding.kind for finding in good.findings}, "what is here needs no word"
    swept = check_start(DEMO, ["online.L=3,5", "task.eval_size=20"])
    assert swept.sweep is not None and swept.unchanged == (), "of several values the first may be the file's"
    swept = check_start(DEMO, ["online.L=5,3", "task.eval_size=20"])
    assert ("online.L", "3", "5") in swept.differences, "of the first run"
    wrong = check_start(DEMO, ["online.LL=5"])
    assert wrong.error is not None and "did you mean `online.L`" in str(wrong.error)
    vllm = next(path for path in CONFIGS if path.stem.startswith("esm_gsm8k"))
    assert "vllm is not installed" in [finding.what for finding in check_start(vllm, []).lacking]
    missing = check_start(DEMO, [f"model.path={tmp_path / 'none'}", "model.backend=transformers"])
    assert any("does not exist" in finding.what for finding in missing.lacking)
    assert check_start(tmp_path / "none.yaml", []).error is not None


def test_blanks_around_a_field_or_its_value_say_nothing() -> None:
    assert StartForm(DEMO, [" online.L = 5", "task.eval_size =20"]).changes == [
        "online.L=5",
        "task.eval_size=20",
    ]
    assert check_start(DEMO, ["online.L =3"]).unchanged == ("online.L",)


def test_changes_are_split() -> None:
    typed = """online.L=4 run.stages='["mine", "eval"]' run.name="it's so" task.only=[a,b]"""
    changes = ["online.L=4", 'run.stages=["mine", "eval"]', "run.name=it's so", "task.only=[a,b]"]
    assert split_changes(typed) == changes
    with pytest.raises(
        ConfigError,
        match=exactly(
            "changes: found a='b, expected field=value, separated by spaces (No closing "
            "quotation) (configuration): correct this value"
        ),
    ):
        split_changes("a='b")


def test_findings_are_to_be_corrected_are_lacking_or_come_by_themselves() -> None:
    wrong, lacking = Finding("wrong", "a", ""), Finding("absent", "b", "")
    fetched = Finding("absent", "c", "", fetched=True)
    check = StartCheck(findings=(wrong, lacking, fetched))
    assert (check.wrong, check.lacking, check.fetched) == ([wrong], [lacking], [fetched])


def test_a_section_that_was_typed_is_changed_where_one_of_its_fields_is(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("run: {name: a, stages: [clusters]}\nonline: {L: 3}\n")
    check = check_start(path, ["online={L: 4}", "evolution={}", "run.seed=1"])
    assert check.differences == (("run.seed", "0", "1"), ("online.L", "3", "4"))
    assert check.unchanged == ("evolution",)
    as_is = f"gflownet.gt_replay={field('gflownet.gt_replay').default}"
    check = check_start(path, [as_is, "gflownet.gt_replay_ratio=0.125"])
    assert [name for name, *_ in check.differences] == ["gflownet.gt_replay_ratio"]
    assert check.unchanged == ("gflownet.gt_replay",), (
        "another field that begins with its name is none of its own"
    )
    path.write_text("run: {name: 7, stages: [clusters]}\n")
    right = check_start(path, ["run.name=b"])
    assert right.error is None and right.differences == (), "the file alone is wrong: nothing to compare with"
    swept = check_start(path, ["run.name=b", "online.L=5,6"])
    assert swept.sweep is not None and (swept.sweep.settings, swept.sweep.runs) == (2, 2)


def test_changes_that_need_quotes_get_them() -> None:
    assert field_problem_words(Problem("--set online.L", "x", "a number")).startswith("online.L")
    with pytest.raises(ConfigError) as error:
        split_changes("a='b")
    [problem] = error.value.problems
    assert (problem.where, problem.value) == ("changes", "a='b")
    assert problem.allowed == "field=value, separated by spaces (No closing quotation)"


def test_a_problem_of_the_field_that_is_typed_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("run: {name: a, stages: [clusters]}\n")
    form = StartForm(path, ["online.L=many", "run.stages=[clusters, their:Own]"])
    assert form.problem_of(field("task.train_size"), "few").startswith("task.train_size")
    assert form.problem_of(field("run.seed"), "1").startswith("online.L")
    assert form.problem_of(field("online.L"), "5,6") == "", "of the others nothing is wrong"
    swept = StartForm(path, ["online.L=1,0"])
    assert swept.problem().startswith("online.L") and swept.problem_of(field("online.L"), "5") == ""
    for one, other in [("task.train_size", "online.L"), ("online.L", "task.train_size")]:
        both = StartForm(path, [f"{one}=few"])
        assert both.problem_of(field(other), "few").startswith(other)
    form.toggle_stage("evolve")
    assert form.stages == ["clusters", "their:Own", "evolve"]
    form.toggle_stage("eval")
    assert form.stages == ["eval", "clusters", "their:Own", "evolve"]
    assert [row.name for row in form.rows("their") if isinstance(row, StageBox)] == ["their:Own"]


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("plain", "plain"), ("two words", "two words"), ("a # b", '"a # b"'), ("true", '"true"'), ("3", '"3"'),
        ("", '""'), ("a: b", '"a: b"'), ("[", '"["'), (True, "true"), (["ü", 1.5], '["ü", 1.5]'), (None, "null"),
    ],
)  # fmt: skip
def test_a_text_that_would_be_read_as_something_else_is_quoted(value: object, typed: str) -> None:
    assert as_typed(value) == typed
