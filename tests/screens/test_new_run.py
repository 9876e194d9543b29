"""The dialog that starts a run, and the form with all fields, by keys at the smallest size."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from textual.app import App
from textual.binding import BindingType
from textual.widgets import Input

from app.keys.commands import EVERYWHERE, bindings
from app.runs.configs import find_configs
from app.runs.start_check import StartCheck
from app.runs.start_form import Heading, StageBox, StartForm, field_problem_words, split_changes
from app.shell import First, SteerApp
from engine.check.finding import Finding
from engine.errors import ConfigError, Problem
from engine.run.directory import RunDirectory
from engine.sweep.sweep import SweepFolder
from screens.new_run import NewRunScreen, check_text
from screens.panels.ask import AskScreen
from screens.panels.help import HelpScreen
from screens.start_form import FormSource, FormTable, StartFormScreen
from screens.widgets.key_line import KeyLine, keys_of
from tests.console import drawn, until
from tests.named_tones import parts

DEMO = Path(__file__).resolve().parents[2] / "configs" / "demo.yaml"


class NewRunApp(App[None]):
    """Just the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(EVERYWHERE)

    def __init__(self, outputs: Path, config: Path = DEMO) -> None:
        super().__init__()
        self.dialog = NewRunScreen(config, outputs)
        self.started: list[RunDirectory | Path | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.started.append)

    def action_explain(self) -> None:
        self.push_screen(HelpScreen(self.screen))

    @property
    def told(self) -> str:
        return str(self.dialog.message.content) if isinstance(self.dialog.message.content, str) else self.text

    @property
    def text(self) -> str:
        width, height = self.dialog.message.size
        return "\n".join(self.dialog.message.render_line(y).text for y in range(height)) if width else ""


async def test_changes_of_the_command_line_stand_in_the_dialog(tmp_path: Path) -> None:
    """As `steer-tui --config FILE --set online.L=5 'run.name=two words'` gives them."""
    app = SteerApp(tmp_path, First(config=DEMO, changes=["online.L=5", "run.name=two words"]))
    async with app.run_test(size=(80, 24)):
        await until(lambda: isinstance(app.screen, NewRunScreen) and app.screen.is_mounted, "the dialog")
        dialog = app.screen
        assert isinstance(dialog, NewRunScreen)
        assert dialog.path == DEMO
        assert split_changes(dialog.set_input.value) == ["online.L=5", "run.name=two words"]


async def test_two_changed_fields_and_enter_start_a_run(tmp_path: Path) -> None:
    """What is typed at once lands in the changes, not in the path; nothing else has to be touched."""
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"task.eval_size=20 online.L=5")
        assert app.dialog.path == DEMO
        await until(
            lambda: "≠ online.L 3 → 5" in app.told and "task.eval_size 200 → 20" in app.told, "differences"
        )
        assert "Press enter to start" in app.told
        await pilot.press("enter")
        await until(lambda: app.started, "the run")
    [run] = app.started
    assert isinstance(run, RunDirectory) and run.path.is_relative_to(tmp_path)
    assert run.read().changes == {"task.eval_size": 20, "online.L": 5}


async def test_a_value_that_the_file_has_already_is_no_change(tmp_path: Path) -> None:
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)):
        app.dialog.set_input.insert_text_at_cursor("online.L=3 task.eval_size=20")
        await until(lambda: "= online.L has this value" in app.told and "200 → 20" in app.told, "both")
        form = StartForm(DEMO, ["online.L=3", "task.eval_size=20"])
        assert form.changes == ["task.eval_size=20"]


async def test_mistakes_are_told_while_typing_and_leave_no_folder(tmp_path: Path) -> None:
    app = NewRunApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"online.LL=5")
        await until(lambda: "did you mean" in app.told, "the suggestion")
        assert "Press enter to start" not in app.told
        await pilot.press("enter")
        await until(lambda: app.dialog.has_class("-wrong"), "the refusal")
        await pilot.press(*" a='")
        await pilot.press("enter")
        await until(lambda: app.dialog.has_class("-wrong"), "the refusal of an open quote")
        await pilot.press("escape")
    assert app.started == [None] and not (tmp_path / "outputs").exists()


async def test_what_a_stage_would_fail_for_is_told_before(tmp_path: Path) -> None:
    """Enter again starts it all the same; after another letter it is told again."""
    app = NewRunApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 40)) as pilot:
        app.dialog.set_input.insert_text_at_cursor("model.backend=transformers model.path=/nowhere/model")
        await until(lambda: "does not exist" in app.told, "what is lacking")
        await pilot.press("enter")
        await until(lambda: "Press enter again" in app.told, "the question")
        assert not (tmp_path / "outputs").exists()
        await pilot.press("space", "enter")
        await until(lambda: "Press enter again" in app.told, "the question again")
        assert not (tmp_path / "outputs").exists()
        await pilot.press("enter")
        await until(lambda: app.started, "the run")
    assert app.started[0] is not None


async def test_the_list_and_the_path_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of b, c and d in a folder: keys stop at the ends; a path that is typed is marked if it is in the list."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.runs.configs.INSTALLED", tmp_path / "none")
    Path("configs").mkdir()
    for name in "bcd":
        Path(f"configs/{name}.yaml").write_text(f"# This is {name}.\n# More of it.\nrun:\n  name: {name}\n")
    app = NewRunApp(tmp_path, Path("configs/b.yaml"))
    async with app.run_test(size=(80, 24)) as pilot:
        configs = app.dialog.list
        seen: list[tuple[str, str, str]] = []

        async def look(*keys: str) -> None:
            await pilot.press(*keys)
            await pilot.pause()
            lines = [configs.render_line(y).text for y in range(configs.size.height)]
            count = str(app.dialog.query_one("#config-count").render())
            seen.append((app.dialog.path_input.value, count, "|".join(line.rstrip() for line in lines)))

        for keys in ((), ("down",), (*"x=1",), ("down",), ("down",), ("up",)):
            await look(*keys)
        await until(lambda: "This is c." in app.told, "the description")
        app.dialog.path_input.value = "configs/b.yaml"
        await look()
        app.dialog.path_input.value = "elsewhere.yaml"
        await look()
        await until(lambda: "✗ elsewhere.yaml" in app.told, "the check")
        assert "description" not in app.told, "of a file that is not there"
    b, c, d = (f"configs/{name}.yaml" for name in "bcd")
    none, first, second, third = (
        "|".join(f"{'› ' if name == chosen else '  '}{name}  This is {name}." for name in "bcd")
        for chosen in ("", *"bcd")
    )
    assert seen == [
        (b, "Configuration  1 of 3", first),
        (c, "Configuration  2 of 3", second),
        (c, "Configuration  2 of 3", second),
        (d, "Configuration  3 of 3", third),
        (d, "Configuration  3 of 3", third),
        (c, "Configuration  2 of 3", second),
        (b, "Configuration  1 of 3", first),
        ("elsewhere.yaml", "Configuration", none),
    ]


async def test_help_while_typing(tmp_path: Path) -> None:
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        assert app.dialog.set_input.value == "?"
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("f1")
        assert app.screen is app.dialog


async def test_form_changes_come_back_into_the_dialog(tmp_path: Path) -> None:
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"online.L=5", "ctrl+o")
        await until(lambda: isinstance(app.screen, StartFormScreen), "the form")
        form = app.screen
        assert isinstance(form, StartFormScreen)
        await pilot.press("down", "space")
        assert "mine" not in form.form.stages
        await pilot.press("space", "slash", *"online.probe_tok", "enter", "down", "space", "enter")
        assert isinstance(app.screen, AskScreen), "a field without choices has no next one"
        assert app.screen.query_one(Input).value == "8", "the file's"
        await pilot.press("ctrl+u", *"many", "enter")
        assert isinstance(app.screen, AskScreen) and "a whole number" in str(app.screen.message.content)
        await pilot.press("ctrl+u", "1", "2", "enter")
        assert app.screen is form
        await pilot.press("enter")
        assert app.screen.query_one(Input).value == "12", "as it is now"
        await pilot.press("escape", "slash", "ctrl+u", *"control_points.M", "enter", "down")
        assert "default 8   in the file 6" in str(form.about.content)
        await pilot.press("enter")
        assert isinstance(app.screen, AskScreen)
        assert str(app.screen.message.content).splitlines()[-1].endswith("Default 8; in the file 6.")
        await pilot.press("escape")
        await pilot.press("slash", "ctrl+u", *"model.backend", "enter", "down", "space", "space")
        assert form.form.changes == ["online.L=5", "online.probe_tokens=12", "model.backend=vllm"]
        row = form.source.rows[form.table.cursor]
        assert not isinstance(row, Heading | StageBox)
        form.form.put("model.backend", "mine", None)
        await pilot.press("space")
        assert form.form.value(row)[0] == row.choices[0], "behind what is none of them comes the first"
        form.form.put("model.backend", "vllm", None)
        form.form.put("run.name", "my run", None)
        await pilot.press("delete", "escape")
        assert app.dialog.set_input.value == "online.L=5 online.probe_tokens=12 'run.name=my run'"
        assert app.dialog.set_input.has_focus


async def test_a_field_with_several_values_makes_a_sweep(tmp_path: Path) -> None:
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.dialog.set_input.value = "online.L=5,0 run.seed=0..2"
        await until(lambda: "at least 1" in app.told, "what is wrong with a value")
        app.dialog.set_input.value = "online.L=5,4 run.seed=0..2 online.beta=2.0"
        await until(lambda: "A sweep: 6 runs, 2 settings" in app.told, "the sweep")
        await pilot.press("enter")
        await until(lambda: app.started, "the sweep's folder")
    [folder] = app.started
    assert isinstance(folder, Path)
    record = SweepFolder(folder).read()
    assert [point.setting["online.L"] for point in record.points] == [5, 5, 5, 4, 4, 4]
    assert record.changes == {"online.beta": 2.0}
    assert not list(tmp_path.glob("*/*/run.json"))  # its runs are made one by one


async def test_what_is_wrong_with_a_sweep_is_what_refuses_it(tmp_path: Path) -> None:
    """Not what the field would be as one value: 0..200 are 201 seeds, and no whole number."""
    app = NewRunApp(tmp_path / "outputs")
    async with app.run_test(size=(80, 24)) as pilot:
        app.dialog.set_input.value = "run.seed=0..200"
        await pilot.press("enter")
        await until(lambda: app.dialog.has_class("-wrong"), "the refusal")
        assert "found 201 = 201 runs" in " ".join(drawn(app).split()) and "at most 100" in drawn(app)
    assert not (tmp_path / "outputs").exists()


async def test_there_is_more_until_the_end_of_the_description(tmp_path: Path) -> None:
    config = tmp_path / "long.yaml"
    config.write_text("".join(f"# line {n} of what this is\n#\n" for n in range(60)) + "run:\n  name: long\n")
    app = NewRunApp(tmp_path, config)
    async with app.run_test(size=(80, 24)) as pilot:
        box = app.dialog.query_one("#config-scroll")
        await until(lambda: box.max_scroll_y > 40, "the description")
        assert app.dialog.check_action("page", (1,)) and not app.dialog.check_action("page", (-1,))
        await pilot.press(*["pagedown"] * 30)
        await pilot.pause()
        assert not app.dialog.check_action("page", (1,)) and app.dialog.check_action("page", (-1,))
        await pilot.press("pageup")
        await pilot.pause()
        assert app.dialog.check_action("page", (1,))


@pytest.mark.parametrize(("size", "scrolled"), [((80, 24), True), ((120, 30), True), ((200, 60), False)])
async def test_every_problem_can_be_read_and_the_footer_says_that_there_are_more(
    tmp_path: Path, size: tuple[int, int], scrolled: bool
) -> None:
    """While one types, and when enter has refused them: nothing lies below the frame of the dialog."""
    config = tmp_path / "wrong.yaml"
    config.write_text("online: {La: 1, Lb: 2, Lc: 3, Ld: 4, Le: 5, Lf: 6, Lg: 7}\n")
    app = NewRunApp(tmp_path, config)
    async with app.run_test(size=size) as pilot:
        box = app.dialog.query_one("#config-scroll")
        for shown in ("✗", "correct these 7 values"):
            await until(lambda shown=shown: shown in app.told, "the problems")
            await pilot.pause()
            frame = app.dialog.query_one("Vertical").content_region
            assert box.region.bottom <= frame.bottom and frame.bottom < size[1]
            more = {key.word for key in keys_of(app.dialog)} & {"More"}
            assert bool(more) == (box.max_scroll_y > 0) and (scrolled or not more)
            await pilot.press(*["pagedown"] * 9)
            await pilot.pause()
            assert "Lg" in drawn(app) and "More" not in {key.word for key in keys_of(app.dialog)}
            await pilot.press("enter")


@pytest.mark.parametrize(("origin", "offered"), [("changed", True), ("file", False), ("default", False)])
def test_only_a_change_can_be_taken_back(origin: str, offered: bool) -> None:
    """Of a field that has the file's value or the default there is none; nor of headings and stages."""
    form = SimpleNamespace(value=lambda field: ("4", origin))
    for row, there in (
        (SimpleNamespace(path="online.L"), offered),
        (Heading("online", True), False),
        (StageBox("eval"), False),
    ):
        screen: Any = SimpleNamespace(
            source=SimpleNamespace(rows=[row]), table=SimpleNamespace(cursor=0), form=form
        )
        assert StartFormScreen.check_action(screen, "reset", ()) == there


@pytest.mark.parametrize(("typed", "changes"), [("", ["run.name="]), (None, []), ("mine", ["run.name=mine"])])
def test_a_value_can_be_emptied(typed: str | None, changes: list[str]) -> None:
    """What is typed counts, also nothing; a dialog that was left changes nothing."""
    form = StartForm(DEMO, [])
    rows = form.rows()
    at = next(at for at, row in enumerate(rows) if getattr(row, "path", "") == "run.name")
    screen: Any = SimpleNamespace(
        source=SimpleNamespace(rows=rows), table=SimpleNamespace(cursor=at), form=form, _show=lambda: None,
        app=SimpleNamespace(push_screen=lambda ask, take: take(typed)),
    )  # fmt: skip
    StartFormScreen._change(screen)
    assert form.changes == changes


def test_rows_of_the_form_cell_by_cell() -> None:
    """A field below its section has its last word alone; ≠ marks a change, bold what the file says."""
    form = StartForm(DEMO, ["online.L=5", "run.stages=[mine,select,memory,eval]"])
    source = FormSource(form)
    cells = {
        source.key(row): [(cell.text, cell.tone) for cell in source.cells(row)] for row in range(len(source))
    }
    count, dim = "a whole number at least 1", "dim"
    assert [
        cells[key]
        for key in (
            Heading("online", True), Heading("evolution", False), StageBox("mine"), StageBox("slsm"),
            "online.L", "online.record_null", "model.vllm.max_model_len",
        )
    ] == [
        [("", ""), ("online", "strong"), ("", ""), ("", dim)],
        [("", ""), ("evolution", dim), ("", ""), ("no stage of this run uses it", dim)],
        [("", ""), ("  [x] mine", ""), ("", ""), ("collects right and wrong answers", dim)],
        [("", ""), ("  [ ] slsm", ""), ("", ""), ("answers the conversations", dim)],
        [("≠", "accent"), ("  L", ""), ("5", "accent"), (count, dim)],
        [("", "accent"), ("  record_null", ""), ("true", "strong"), ("true or false", dim)],
        [("", "accent"), ("  max_model_len", ""), ("null", ""), (f"{count} or null", dim)],
    ]  # fmt: skip


async def test_what_the_form_says_above_and_below_its_rows() -> None:
    """The changes, what is wrong with them, and what the row under the cursor is; keys go on from there."""
    screen = StartFormScreen(StartForm(DEMO, ["online.L=0"]))
    told: list[tuple[str, str]] = []
    results: list[list[str] | None] = []
    async with App[None]().run_test(size=(120, 40)) as pilot:
        await pilot.app.push_screen(screen, results.append)
        keys_of_rows: list[list[str]] = []
        for keys in (
            "home enter", "down", "enter", "space", "slash o n l i n e . L enter down", "delete", "up",
            "slash escape", "slash z z z z enter", "end", "slash escape end",
        ):  # fmt: skip
            await pilot.press(*keys.split())
            await pilot.pause()
            assert pilot.app.screen is screen
            told.append((str(screen.head.render()).strip(), str(screen.about.render())))
            keys = [key.word for key in screen.query_one(KeyLine)._keys]  # as they were drawn
            keys_of_rows.append([word for word in ("Next", "As in file") if word in keys])
        assert screen.table.has_focus and screen.search.value == ""
        assert screen.search.placeholder == "/ search by words of name or help"
        await pilot.press("escape")
    stages = "select, memory, eval, clusters, evolve, graphs, retriever, agent-graphs, gflownet, answer, slsm, pool"
    about = "space ticks a stage, or takes its tick away. They run in this order:"
    about = f"mine collects right and wrong answers. {about}"
    head, wrong = f"All fields   {DEMO}   ", "   ✗ online.L: found 0, expected a whole number at least 1"
    field = "online.L   Entries probed at a control point.\ntakes a whole number at least 1\ndefault 3   in the file 3"
    last = (
        "serve.log_texts   Whether questions and answers stand in the run's log.\ntakes true or false\n"
        "default true   in the file true"
    )
    nothing = "Nothing differs from the file."
    assert told == [
        (f"{head}1 change{wrong}", "online.L=0"),
        (f"{head}1 change{wrong}", f"{about} mine, {stages}, selector."),
        (f"{head}2 changes{wrong}", f"{about} {stages}, selector."),
        (f"{head}1 change{wrong}", f"{about} mine, {stages}, selector."),
        (f"{head}1 change{wrong}", f"{field}   now 0"),
        (f"{head}0 changes", field),
        (f"{head}0 changes", nothing),
        (f"{head}0 changes", nothing),
        (f"{head}0 changes", nothing),
        (f"{head}0 changes", nothing),
        (f"{head}0 changes", last),
    ]
    assert results == [[]]
    assert keys_of_rows == [[], ["Next"], ["Next"], ["Next"], ["As in file"], [], [], [], [], [], ["Next"]], (
        "a stage has a next state, a field with choices a next one, a change the value before it"
    )


async def test_of_many_configurations_the_chosen_one_is_in_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 15, seven lines on a low terminal; all but the highest leave room for the description."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.runs.configs.INSTALLED", tmp_path / "none")
    Path("configs").mkdir()
    for number in range(10, 25):
        Path(f"configs/{number}.yaml").write_text(f"# The {number}th.\n")
    app = NewRunApp(tmp_path, Path("configs/10.yaml"))
    async with app.run_test(size=(80, 24)) as pilot:
        configs = app.dialog.list
        for by, line in ((0, "› 10"), (4, "› 14"), (10, "› 24"), (-14, "› 10")):
            app.dialog.action_choose(by)
            await pilot.pause()
            shown = [configs.render_line(y).text for y in range(configs.size.height)]
            assert len(shown) == 7 and any(text.startswith(line) for text in shown), line


def test_the_demo_is_the_first_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others by name; one that is here goes before the installed one of this name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.runs.configs.INSTALLED", tmp_path / "installed")
    for folder, names in (("installed", "a demo z"), ("configs", "b z")):
        Path(folder).mkdir()
        for name in names.split():
            Path(folder, f"{name}.yaml").write_text(f"# {folder}\n")
    assert [(config.path.stem, config.headline) for config in find_configs()] == [
        ("demo", "installed"),
        ("a", "installed"),
        ("b", "configs"),
        ("z", "configs"),
    ]


def test_what_the_check_says_line_by_line() -> None:
    """What is wrong first, then what is lacking, what differs, what does not, and what comes by itself; all
    problems of a configuration."""
    sweep: Any = SimpleNamespace(runs=6, settings=2)
    findings = (
        Finding("absent", "no torch", "model.backend", "install it"),
        Finding("wrong", "too long", "task.size", "make it shorter"),
        Finding("absent", "a model of 98 MB", "model.path", "", fetched=True),
        Finding("absent", "its words", "model.path", "", fetched=True),
    )
    check = StartCheck((("online.L", "3", "5"), ("run.seed", "0", "1")), ("a.b",), None, findings, sweep)
    assert parts(check_text(check)) == [
        ("✗ task.size: too long. make it shorter\n! no torch (model.backend): install it\n", ""),
        ("A sweep: 6 runs, 2 settings, one after the other. Its first run:", "bold"),
        ("\n≠ ", ""), ("online.L ", "bold"), ("3 → 5\n≠ ", ""), ("run.seed ", "bold"), ("0 → 1\n", ""),
        ("= a.b has this value in the file already", "dim"), ("\n", ""),
        ("↓ fetched when needed: a model of 98 MB; its words", "dim"),
    ]  # fmt: skip
    problems = [Problem(f"--set f.{at}", "x", "a number") for at in range(8)]
    wrong = check_text(StartCheck(error=ConfigError(problems))).plain.split("\n")
    assert wrong == [f"✗ f.{at}: found x, expected a number" for at in range(8)]
    assert check_text(StartCheck()).plain == ""


async def test_what_must_be_corrected_and_what_may_be_lacking(tmp_path: Path) -> None:
    """The one is never started, the other by a second enter; a new letter takes both words away."""
    app = NewRunApp(tmp_path)
    wrong = StartCheck(findings=(Finding("wrong", "too long", "task.size", "make it shorter"),))
    lacking = StartCheck(findings=(Finding("absent", "no torch", "model.backend", "install it"),))
    async with app.run_test(size=(80, 40)) as pilot:
        await until(lambda: "Press enter to start." in app.told, "the check")
        dialog = app.dialog
        typed = (dialog.path, "")
        texts: list[tuple[str, bool, bool]] = []
        for check in (wrong, lacking):
            dialog._busy = True
            dialog._object(typed, check)
            texts.append((str(dialog.message.content), dialog.has_class("-wrong"), dialog._agreed == typed))
            assert not dialog._busy
        dialog._show_check(typed, StartCheck())
        assert dialog.has_class("-wrong"), "a check that comes later does not wipe out why it was not started"
        await pilot.press("x")
        assert not dialog.has_class("-wrong") and "Not started" not in str(dialog.message.content)
    assert texts == [
        ("✗ task.size: too long. make it shorter\n\nNot started: correct this first.", True, False),
        ("! no torch (model.backend): install it\n\nNot started: a stage would fail for this. Press enter again to "
         "start it all the same.", True, True),
    ]  # fmt: skip


async def test_without_any_configuration_a_path_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.runs.configs.INSTALLED", tmp_path / "none")
    app = NewRunApp(tmp_path)
    app.dialog = NewRunScreen(None, tmp_path)
    async with app.run_test(size=(80, 24)):
        dialog = app.dialog
        assert dialog.path == Path("configs/demo.yaml")
        count = str(dialog.query_one("#config-count").render())
        assert count == "Configuration  no configs/*.yaml in this folder: type a path"
        assert (dialog.path_input.placeholder, dialog.set_input.placeholder) == (
            "path of a YAML file", "such as task.eval_size=20 online.L=4",
        )  # fmt: skip
        assert dialog.set_input.has_focus and dialog.query_one("Vertical").border_title == "New run"


@pytest.mark.parametrize(
    ("where", "words"),
    [("--set online.L", "online.L: found x, expected a number"), ("--set", "found x, expected a number"),
     ("demo.yaml:3", "demo.yaml:3: found x, expected a number")],
)  # fmt: skip
def test_the_option_that_nobody_typed_is_not_named(where: str, words: str) -> None:
    assert field_problem_words(Problem(where, "x", "a number")) == words


async def test_what_is_typed_is_checked_once_when_one_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    monkeypatch.setattr(NewRunScreen, "_poll", lambda self: looks.append(self.set_input.value))
    monkeypatch.setattr("screens.new_run._PATIENCE", 0.2)
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: looks, "the first check")
        looks.clear()
        app.dialog.set_input.value = "a"
        await pilot.pause()
        app.dialog.set_input.value = "ab"
        await until(lambda: looks, "the check")
        await pilot.pause(0.3)
    assert looks == ["ab"]


async def test_enter_is_heard_once_and_says_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was wrong before is gone; what is wrong is read from its beginning."""
    begun: list[tuple[Path, str]] = []
    monkeypatch.setattr(NewRunScreen, "_prepare", lambda self, path, changes: begun.append((path, changes)))
    config = tmp_path / "long.yaml"
    config.write_text("".join(f"# line {n} of what this is\n#\n" for n in range(60)) + "run:\n  name: long\n")
    app = NewRunApp(tmp_path, config)
    async with app.run_test(size=(80, 24)) as pilot:
        dialog, box = app.dialog, app.dialog.query_one("#config-scroll")
        await until(lambda: box.max_scroll_y > 40, "the description")
        await pilot.press("pagedown")
        await pilot.pause()
        assert box.scroll_y > 0
        dialog._show_wrong("no\n" * 90)
        await pilot.pause()
        assert box.scroll_y == 0 and dialog.has_class("-wrong")
        await pilot.press("enter", "enter")
        assert begun == [(config, "")] and not dialog.has_class("-wrong")
        assert str(dialog.message.content) == "Reading the configuration …"


async def test_a_form_without_changes_leaves_none_in_the_dialog(tmp_path: Path) -> None:
    """A form that was not closed by its user changes nothing."""
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)):
        app.dialog.set_input.value = "online.L=5"
        app.dialog._take(None)
        assert app.dialog.set_input.value == "online.L=5"
        app.dialog._take([])
        assert app.dialog.set_input.value == ""


async def test_the_first_configuration_is_chosen_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("app.runs.configs.INSTALLED", tmp_path / "none")
    Path("configs").mkdir()
    for name in "bc":
        Path(f"configs/{name}.yaml").write_text(f"# This is {name}.\n")
    app = NewRunApp(tmp_path, Path("configs/c.yaml"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("up")
        assert app.dialog.path == Path("configs/b.yaml")


def test_the_fields_of_a_form_keep_their_order() -> None:
    """That of the configuration: no key offers another."""
    table = FormTable(FormSource(StartForm(DEMO, [])))
    assert [bool(table.check_action(name, ())) for name in ("sort", "follow", "select")] == [
        False,
        False,
        True,
    ]


async def test_the_choices_of_a_field_go_round_and_the_changes_have_the_keys_then(tmp_path: Path) -> None:
    """Whichever field of the dialog one came from."""
    app = NewRunApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.dialog.path_input.focus()
        await pilot.press("ctrl+o")
        await until(lambda: isinstance(app.screen, StartFormScreen), "the form")
        form = app.screen
        assert isinstance(form, StartFormScreen)
        await pilot.press("slash", *"record_null", "enter", "down")
        row = form.source.rows[form.table.cursor]
        assert not isinstance(row, Heading | StageBox) and row.choices == ("true", "false")
        seen = []
        for _ in range(3):
            await pilot.press("space")
            seen.append(form.form.value(row)[0])
        assert seen == ["false", "true", "false"]
        await pilot.press("escape")
        assert app.screen is app.dialog and app.dialog.set_input.has_focus
        assert app.dialog.set_input.value == "online.record_null=false"
