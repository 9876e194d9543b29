"""The evolution of cluster deltas, held against its document: written from the text, section by section.

One run as published: every setting is the section's own, but for what the document leaves to the user (paths, sizes,
the number of iterations) and for who answers: the included model in this process, and a loopback server as gpt-4o.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import torch

from engine.config.config import Config
from engine.config.evolution import EvolutionSection
from engine.config.file import load_config
from engine.errors import ConfigError
from engine.events import AnswerJudged, AnswersScored, Event, MethodCompared, ServerChanged
from engine.evolution.clusters.cluster_map import load_cluster_map
from engine.evolution.clusters.clusters_stage import BuildClusters
from engine.evolution.evolve_stage import Evolve
from engine.evolution.processor import load_logits_processor
from engine.evolution.scoring.score import Outcome, score
from engine.lm.loading.load import load_model
from engine.lm.vocabulary import load_vocabulary
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from tests.misbehaving_server import MisbehavingServer, misbehaving_server
from tests.run_stage import run_stage

pytestmark = pytest.mark.usefixtures("unchecked_processors")

ROOT = Path(__file__).resolve().parents[2]
IDS = [str(number) for number in range(12)]
SIZE, ITERATIONS = 4, 3
RIGHT_IN = 1
"""The only iteration whose answers the judge calls right."""


@pytest.fixture(scope="module")
def unchecked_processors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.evolution.processor.check_processor", lambda *given: None)
        yield


@dataclass
class Published:
    """A finished run: its folder, its events, and what the loopback server was asked."""

    folder: Path
    events: list[Event]
    judged: list[dict[str, Any]]
    reflected: list[dict[str, Any]]

    def file(self, name: str) -> Path:
        return self.folder / "evolution" / name

    def read(self, name: str) -> Any:
        return json.loads(self.file(name).read_text())


def configured(folder: Path, server: MisbehavingServer) -> Config:
    here = f"openai: {{base_url: '{server.url}', api_key_env: none}}"
    path = folder / "published.yaml"
    path.write_text(
        "run: {stages: [clusters, evolve]}\nclusters: {embedder: hashed}\n"
        "evolution:\n  model: {backend: embedded, path: statements}\n  server: {kind: in_process}\n"
        f"  iterations: {ITERATIONS}\n  minibatch_size: {SIZE}\n  pool_size: 20\n  max_new_tokens: 48\n"
        f"  SHORTNESS_SCALE: 50\n  reflector: {{{here}}}\n  judge: {{{here}}}\n"
    )
    return load_config(path)


def is_reflection(body: dict[str, Any]) -> bool:
    return body["response_format"]["json_schema"]["name"] == "reflector_output"


def play(server: MisbehavingServer) -> None:
    """The reflector moves cluster 2 by -0.1 a round; the judge calls only one iteration's answers right."""

    def answer(body: dict[str, Any]) -> str:
        rounds = sum(map(is_reflection, server.requests))
        if is_reflection(body):
            deltas = dict.fromkeys(IDS, 0.0) | {"2": -rounds / 10}
            return json.dumps({"deltas": deltas, "summary": f"Learnt in round {rounds - 1}."})
        return json.dumps({"reasoning": "compared", "correct": rounds == RIGHT_IN})

    server.answer = answer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("published")
    with misbehaving_server(lambda body: "") as server:
        play(server)
        config = configured(folder, server)
        model = load_model(config.evolution_model)
        run_stage(BuildClusters(), config, folder, model)
        events = run_stage(Evolve(), config, folder, model)
        reflected = [body for body in server.requests if is_reflection(body)]
        judged = [body for body in server.requests if not is_reflection(body)]
    return Published(folder, events, judged, reflected)


# ---------------------------------------------------------------- 1, 3: settings


def test_a_section_without_settings_is_the_published_algorithm() -> None:
    config = Config()
    section = config.evolution
    # 2: nothing is generated for the clusters' descriptions.
    assert config.clusters.frequency_texts == 0
    # 1.8: the highest composite of a minibatch so far is the best.
    assert section.best_by == "minibatch"
    # 1.5, 1.6, 3: a language model judges and reflects; the reflector is gpt-4o, its key is in OPENAI_API_KEY.
    assert (section.judge.kind, section.reflector.kind) == ("openai", "openai")
    assert section.reflector.openai.model == "gpt-4o" and section.reflector.openai.base_url is None
    assert section.reflector.openai.api_key_env == "OPENAI_API_KEY"
    # 1.3, 2: an SGLang server at port 8000 that takes custom processors.
    assert (section.server.kind, section.server.port) == ("sglang", 8000)
    for part in ("sglang.launch_server", "--model-path", "--port", "--enable-custom-logit-processor"):
        assert part in section.server.command
    # 1: what comes after the last iteration, or ends the loop before it, is not in the document.
    assert (section.validation_size, section.test_size, section.brief_prompts, section.length_caps) == (
        0,
        0,
        [],
        0,
    )
    assert (section.patience, section.max_cost) == (0, None)
    # 3: the pool is all questions unless indices are listed.
    assert section.pool == "all" and section.initial_deltas is None
    # 4.3: clusters "0" to "11", of which two are the fixed ones.
    assert config.clusters.k == 10 and config.clusters.numbers == "arithmetic"


def test_what_the_document_does_not_have_needs_the_sets_it_works_on() -> None:
    for fields in (
        {"best_by": "validation"},
        {"length_caps": 3},
        {"brief_prompts": ["Be brief."], "test_size": 4},
    ):
        with pytest.raises(ValueError, match="set `validation_size`"):
            EvolutionSection.model_validate(fields)
    assert EvolutionSection(best_by="validation", validation_size=5).validation_size == 5


@pytest.mark.parametrize(
    "symbol",
    ["EVOLUTION_FINANCEBENCH", "EVOLUTION_POOL", "EVOLUTION_MINIBATCH_SIZE", "EVOLUTION_SHORTNESS_SCALE",
     "EVOLUTION_JUDGE_OPENAI_MODEL", "EVOLUTION_JUDGE_TOLERANCE", "EVOLUTION_ITERATIONS",
     "EVOLUTION_REFLECTOR_OPENAI_MODEL", "EVOLUTION_INITIAL_DELTAS", "EVOLUTION_SERVER_COMMAND", "CLUSTERS_LABELS",
     "CLUSTERS_DESCRIPTIONS", "CLUSTERS_EMBEDDINGS", "CLUSTERS_PCA"],
)  # fmt: skip
def test_kconfig_has_the_settings(symbol: str) -> None:
    """3: a menu, a defconfig and `make menuconfig`."""
    assert re.search(rf"^config {symbol}$", (ROOT / "configs" / "Kconfig").read_text(), re.MULTILINE)
    assert f"CONFIG_{symbol}=" in (ROOT / "configs" / "evolution_defconfig").read_text()
    assert re.search(r"^menuconfig:", (ROOT / "Makefile").read_text(), re.MULTILINE)


# ---------------------------------------------------------------- 1.8: the composite


@pytest.mark.parametrize(
    ("outcomes", "scale", "short", "correct", "composite"),
    [
        # mean 200 at a scale of 200: 1/2; one of two right: 0.4 * 1/2 + 0.6 * 1/2
        ([(100, True), (300, False)], 200, 0.5, 0.5, 0.5),
        # 1 / (1 + 50/100) = 2/3; all right: 0.4 * 2/3 + 0.6
        ([(50, True)], 100, 2 / 3, 1.0, 0.4 * 2 / 3 + 0.6),
        # no token: 1; none right: 0.4
        ([(0, False), (0, False)], 10, 1.0, 0.0, 0.4),
    ],
)
def test_the_composite(
    outcomes: Sequence[tuple[int, bool]], scale: float, short: float, correct: float, composite: float
) -> None:
    """1.8: 0.4 * shortness + 0.6 * correctness ratio; shortness = 1 / (1 + mean tokens / scale)."""
    found = score([Outcome(tokens, right) for tokens, right in outcomes], scale)
    assert (found.shortness, found.correctness) == pytest.approx((short, correct))
    assert found.composite == pytest.approx(composite)


# ---------------------------------------------------------------- 1: the loop


def test_an_iteration_stops_generates_starts_and_waits_until_healthy(run: Published) -> None:
    """1.1 to 1.3: once an iteration, before its answers; nothing is served or asked after the last one."""
    order = [
        event.state if isinstance(event, ServerChanged) else event.split
        for event in run.events
        if isinstance(event, (ServerChanged, AnswerJudged))
    ]
    assert order == ["stopping", "starting", "healthy", *["minibatch"] * SIZE] * ITERATIONS


def test_how_often_judge_and_reflector_are_asked(run: Published) -> None:
    """1.5: each answer of a minibatch once. 1.6: once an iteration. Nothing else is asked."""
    assert len(run.judged) == SIZE * ITERATIONS and len(run.reflected) == ITERATIONS
    assert not [event for event in run.events if isinstance(event, MethodCompared)]


def test_the_reflectors_deltas_are_used_by_the_next_iteration(run: Published) -> None:
    """1.7: -0.1 a round on cluster 2, from zeros."""
    used = [item["deltas"]["2"] for item in run.read("history.json")["iterations"]]
    assert used == [0.0, -0.1, -0.2]
    # Written after the reply, also after the last one.
    assert run.read("history.json")["iterations"][-1]["new_deltas"] == run.read("deltas_current.json")
    assert run.read("deltas_current.json")["2"] == pytest.approx(-0.3)


def test_the_best_is_the_highest_composite_of_a_minibatch_so_far(run: Published) -> None:
    """1.8, 5: only iteration 1 is right, worth 0.6; the others have 0.4 at most."""
    items = run.read("history.json")["iterations"]
    assert [item["best"] for item in items] == [True, True, False]
    assert [item["score"]["composite"] > 0.6 for item in items] == [False, True, False]
    assert run.read("deltas_best.json") == items[1]["deltas"] and items[1]["deltas"]["2"] == -0.1
    scored = [event for event in run.events if isinstance(event, AnswersScored)]
    assert [(event.split, event.best) for event in scored] == [
        ("minibatch", best) for best in (True, True, False)
    ]


def test_what_is_recorded_of_an_iteration(run: Published) -> None:
    """1.9, 6: mean length, correctness, shortness and composite, by the formula."""
    for item in run.read("history.json")["iterations"]:
        got = item["score"]
        assert got["correctness"] == float(item["iteration"] == RIGHT_IN)
        assert got["shortness"] == pytest.approx(1 / (1 + got["mean_tokens"] / 50))
        assert got["composite"] == pytest.approx(0.4 * got["shortness"] + 0.6 * got["correctness"])


def test_a_stop_leaves_the_best_deltas_and_their_processor(run: Published, tmp_path: Path) -> None:
    """5: after Ctrl+C both can be used."""
    for name in ("cluster_ids.npy", "clusters.json", "cluster_descriptions.json"):
        target = tmp_path / "evolution" / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(run.file(name).read_bytes())
    with misbehaving_server(lambda body: "") as server:
        play(server)
        config = configured(tmp_path, server)
        model = load_model(config.evolution_model)

        def boundary() -> None:
            raise StopRequested

        context = StageContext(
            "evolve", config, tmp_path, lambda event: None, lambda: None, lambda section: model, boundary
        )
        with pytest.raises(StopRequested):
            Evolve().run(context)
    assert json.loads((tmp_path / "evolution" / "deltas_best.json").read_text()) == dict.fromkeys(IDS, 0.0)
    assert (tmp_path / "evolution" / "processor_best.py").is_file()


# ---------------------------------------------------------------- 2.5: clusters 0 and 1


def test_the_fixed_clusters_never_go_through_k_means(run: Published) -> None:
    """2.5: 0 is the ends of text and nothing else; 1 is digits and + - * / $ % =; all others are label + 2."""
    vocabulary = load_vocabulary(Config.model_validate({"model": {"path": "statements"}}).model)
    clusters = load_cluster_map(run.folder / "evolution")
    assert clusters.names == IDS
    assert {int(i) for i in np.flatnonzero(clusters.ids == 0)} == set(vocabulary.eos)
    numbers = [vocabulary.texts[i] for i in np.flatnonzero(clusters.ids == 1)]
    assert {text.strip(" ") for text in numbers} == set("0123456789+-*/$%=")
    for text in (".", ",", ".\n", "\n\n"):
        assert clusters.ids[vocabulary.texts.index(text)] >= 2
    labels = joblib.load(run.file("labels_kmeans.joblib"))
    ordinary = (clusters.ids >= 2) & (clusters.ids < 255)
    assert set(labels[ordinary]) == set(range(10))
    np.testing.assert_array_equal(clusters.ids[ordinary], labels[ordinary] + 2)


def test_the_processor_adds_each_clusters_delta(run: Published) -> None:
    """2.5: `processor_best.py` adds deltas["0"] to the ends of text, deltas["2"] to cluster 2."""
    clusters = load_cluster_map(run.folder / "evolution")
    logits = torch.zeros(1, clusters.vocab_size)
    added = load_logits_processor(run.file("processor_best.py"))([[]], logits)
    assert isinstance(added, torch.Tensor)
    np.testing.assert_allclose(added[0].numpy(), np.where(clusters.ids == 2, -0.1, 0.0), atol=1e-7)


# ---------------------------------------------------------------- 4: the reflector


def test_the_reflector_gets_everything_and_no_example_deltas(run: Published) -> None:
    """4.1, 4.2: descriptions with size and share, the deltas of this minibatch, what was learnt, every answer."""
    items = run.read("history.json")["iterations"]
    descriptions = run.read("cluster_descriptions.json")
    assert list(descriptions) == IDS
    for number, body in enumerate(run.reflected):
        system, user = (message["content"] for message in body["messages"])
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert json.dumps(descriptions["3"]["size"]) in user and '"share"' in user
        assert json.dumps(items[number]["deltas"]) in user
        shown = re.findall(r"example_id: (\S+)\nCorrect: (yes|no)\n", user)
        assert [example for example, _ in shown] == items[number]["examples"]
        assert {right for _, right in shown} == {"yes" if number == RIGHT_IN else "no"}
        assert user.count("Explanation: compared") == SIZE
        learnt = [line for line in user.splitlines() if "Learnt in round" in line]
        assert len(learnt) == number and ("First iteration; no prior learnings." in user) == (number == 0)
        # 7: the whole message is kept.
        logged = run.file(f"reflector_message_{number:03d}.txt").read_text()
        assert system in logged and user in logged


def test_the_reply_is_held_to_the_schema(run: Published) -> None:
    """4.4: strict; exactly the cluster ids, numbers each; "deltas" and "summary" and nothing else."""
    form = run.reflected[0]["response_format"]
    assert form["type"] == "json_schema" and form["json_schema"]["strict"] is True
    schema = form["json_schema"]["schema"]
    assert schema["required"] == ["deltas", "summary"] and schema["additionalProperties"] is False
    deltas = schema["properties"]["deltas"]
    assert deltas["required"] == IDS and deltas["additionalProperties"] is False
    assert deltas["properties"] == {name: {"type": "number"} for name in IDS}
    assert schema["properties"]["summary"] == {"type": "string"}


def test_the_documents_messages_can_be_given(run: Published, tmp_path: Path) -> None:
    """4.2: both messages from files, with the document's placeholders."""
    (tmp_path / "system.txt").write_text("You reflect.")
    (tmp_path / "user.txt").write_text(
        "D {{ cluster_descriptions_json }}\nC {{ current_deltas_json }}\nS {{ cot_summary }}\n"
        "A {{ all_responses_with_correctness }}"
    )
    for name in ("cluster_ids.npy", "clusters.json", "cluster_descriptions.json"):
        target = tmp_path / "evolution" / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(run.file(name).read_bytes())
    with misbehaving_server(lambda body: "") as server:
        play(server)
        path = tmp_path / "published.yaml"
        configured(tmp_path, server)
        own = [f"evolution.reflector.system_prompt={tmp_path / 'system.txt'}",
               f"evolution.reflector.user_template={tmp_path / 'user.txt'}", "evolution.iterations=1"]  # fmt: skip
        config = load_config(path, own)
        run_stage(Evolve(), config, tmp_path, load_model(config.evolution_model))
        (body,) = [body for body in server.requests if is_reflection(body)]
    system, user = (message["content"] for message in body["messages"])
    assert system == "You reflect." and user.startswith('D {\n "0": {') and "{{" not in user
    zeros = json.dumps(dict.fromkeys(IDS, 0.0))
    assert f"\nC {zeros}\nS First iteration; no prior learnings.\nA example_id: " in user


# ---------------------------------------------------------------- 7: files


def test_the_files(run: Published) -> None:
    """7: names as in the document; tables of a comparison are not among them."""
    for name in (
        "deltas_current.json",
        "deltas_best.json",
        "processor.py",
        "processor_best.py",
        "history.json",
    ):
        assert run.file(name).is_file()
    assert run.file("evolution_lengths.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(run.file("").glob("reflector_message_*.txt"))) == ITERATIONS
    assert not run.file("tables").exists()


# ---------------------------------------------------------------- 8, 2: what is missing


def test_a_missing_key_and_a_missing_server_are_one_error_with_both_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the vocabulary is embedded."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("engine.lm.sglang.command.package_version", lambda name: None)
    config = Config.model_validate({"run": {"stages": ["clusters", "evolve"]}})
    for stage in (BuildClusters(), Evolve()):
        with pytest.raises(ConfigError) as raised:
            run_stage(stage, config, tmp_path, lambda: pytest.fail("nothing is loaded"))
        assert [problem.where for problem in raised.value.problems] == [
            "evolution.judge.openai.api_key_env", "evolution.reflector.openai.api_key_env", "evolution.server.command"
        ]  # fmt: skip
        told = str(raised.value)
        for words in (
            "OPENAI_API_KEY, not set", "`evolution.judge.kind: auto`", "`evolution.reflector.kind: statistical`",
            "sglang is not installed", "`evolution.server.kind: in_process`",
        ):  # fmt: skip
            assert words in told
    assert not (tmp_path / "evolution").exists()
