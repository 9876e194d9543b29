import sys
import weakref
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from engine.config.models.model import ModelSection
from engine.events import Event, ModelLoaded, ModelLoading
from engine.lm.kept_texts import KeepingModel, KeptTexts
from engine.lm.loading.load_progress import listening, reading_bars
from engine.lm.protocol import ModelInfo
from engine.lm.shared_models import SharedModels
from tests.engine.lm.test_gguf import write_gguf
from tests.tiny_models import save_tiny


class Loaded:
    """A model of which only loading and ending matter."""

    def __init__(self, section: ModelSection) -> None:
        self.section = section
        self.info = ModelInfo(
            name=str(section.path), backend=section.backend, device="cpu", dtype="float32", num_layers=1,
            hidden_size=1, vocab_size=1, parameters=1, fingerprint="",
        )  # fmt: skip
        self.closed, self.tokenizer = False, None
        self.part = [self]  # a network is a ring of objects that hold one another

    def close(self) -> None:
        self.closed = True


def section(path: str, backend: str = "vllm", share: float = 0.9) -> ModelSection:
    return ModelSection.model_validate(
        {"path": path, "backend": backend, "vllm": {"gpu_memory_utilization": share}}
    )


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`shared(section)` is the loaded model; `shared.events` what was told."""
    monkeypatch.setattr("engine.lm.loading.load.load_model", Loaded)
    events: list[Event] = []
    models = SharedModels(events.append)
    return SimpleNamespace(models=models, events=events)


def test_a_model_is_loaded_once_and_told_of(shared: Any) -> None:
    assert shared.models(section("a")) is shared.models(section("a"))
    begun, starting, loaded = shared.events
    assert begun == ModelLoading(name="a") and starting == ModelLoading(name="a", doing="starting", share=0.0)
    assert isinstance(loaded, ModelLoaded) and loaded.name == "a"


def test_how_far_loading_is_is_told_once_a_second(
    shared: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And at its end how long it took, in thousandths of a second."""
    now = [10.0]

    def load(one: ModelSection) -> Loaded:
        for second, share in ((0.5, 0.1), (1.0, 0.2), (1.9, 0.3), (2.0, 0.4), (2.0001, 0.5)):
            now[0] = 10.0 + second
            sys.stderr.write(f"\rLoading: {round(100 * share)}%|###|")
        now[0] = 12.34567
        return Loaded(one)

    def with_bars(one: ModelSection) -> Loaded:
        with reading_bars():
            return load(one)

    monkeypatch.setattr("engine.lm.loading.load.load_model", with_bars)
    monkeypatch.setattr("engine.lm.shared_models.time", SimpleNamespace(monotonic=lambda: now[0]))
    (tmp_path / "model.safetensors").write_bytes(bytes(7))
    path = str(tmp_path)
    shared.models(section(path, "transformers"))
    begun = ModelLoading(name=path, size=7)
    steps = [("", 0.0), ("starting", 0.0), ("reading the weights", 0.2), ("reading the weights", 0.4)]
    *told, loaded = shared.events
    assert told == [structs.replace(begun, doing=doing, share=share) for doing, share in steps]
    assert loaded.seconds == 2.346 and "fingerprint" in ModelLoaded.__struct_fields__
    info = shared.models(section(path, "transformers")).info
    assert (loaded.name, loaded.backend, loaded.num_layers) == (info.name, info.backend, info.num_layers)


def test_a_line_beside_the_bars_is_printed_whole_and_flushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What draws a bar goes to the next line behind it and back: none of that is printed."""

    class Counting(StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    beyond = Counting()
    monkeypatch.setattr("sys.stderr", beyond)
    with reading_bars():
        assert sys.stderr.write("\rLoading: 50%|#####|") == 20
        assert sys.stderr.write("\n") == 1
        print("a line", file=sys.stderr, flush=True)
        assert beyond.flushed == 1
        sys.stderr.write("\n")
        assert sys.stderr.write("\r\x1b[A ") == 5
        print("another", 7, file=sys.stderr)
        sys.stderr.write("\n")
    assert beyond.getvalue() == "a line\nanother 7\n"


def test_what_stands_beside_a_bar_in_one_piece_of_text_is_printed_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And a bar that is drawn within a line leaves no sign in it."""
    beyond = StringIO()
    monkeypatch.setattr("sys.stderr", beyond)
    with reading_bars():
        sys.stderr.write("\rLoading: 50%|#####|\na warning\n")
        print("a line", end="", file=sys.stderr)
        for piece in ("\rLoading: 60%|######|", "\x1b[A", " ", "on\n"):
            sys.stderr.write(piece)
    assert beyond.getvalue() == "\r\na warning\na line on\n"


def test_loading_tells_what_and_how_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real folder and a real GGUF file: the bars that the libraries draw are read, and not printed."""
    monkeypatch.setattr("engine.lm.shared_models.TELL_EVERY", 0.0)
    folder = save_tiny(tmp_path / "tiny")
    file = write_gguf(folder, tmp_path / "tiny.gguf")
    for path, size, doing in (
        (folder, (folder / "model.safetensors").stat().st_size, "reading the weights"),
        (file, file.stat().st_size, "reading the weights"),
    ):
        events: list[Event] = []
        SharedModels(events.append)(ModelSection(backend="transformers", path=str(path), device="cpu"))
        *told, loaded = events
        assert isinstance(loaded, ModelLoaded) and isinstance(told[0], ModelLoading)
        assert all(isinstance(event, ModelLoading) and event.size == size for event in told)
        assert (told[0].doing, told[0].share) == ("", 0.0)
        shares = [event.share for event in told if isinstance(event, ModelLoading) and event.doing == doing]
        assert shares == sorted(shares) and shares[-1] == 1.0
    assert capsys.readouterr() == ("", "")


def test_a_built_in_model_is_there_at_once() -> None:
    events: list[Event] = []
    SharedModels(events.append)(ModelSection(device="cpu"))
    assert [type(event) for event in events] == [ModelLoaded]
    assert isinstance(events[0], ModelLoaded)
    assert events[0].name == "embedded"


def test_what_is_no_bar_still_reaches_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, float]] = []
    with listening(lambda doing, share: told.append((doing, share))), reading_bars():
        sys.stderr.write("\rmodel-1.safetensors:  45%|####      | 1/2 [00:01<00:01]")
        sys.stderr.write("a warning, 45% of it\n")
        for bar in ("Loading checkpoint shards", "Converting and de-quantizing GGUF tensors...", ""):
            sys.stderr.write(f"\r{bar}: 100%|##########| 2/2 [00:02<00:00]")
    assert told == [("fetching model-1.safetensors", 0.45), *[("reading the weights", 1.0)] * 3]
    assert capsys.readouterr().err == "a warning, 45% of it\n"
    with reading_bars():
        sys.stderr.write("\rmodel-1.safetensors: 100%|##########| 2/2 [00:02<00:00]")
    assert len(told) == 4, "nobody listens any more"
    assert capsys.readouterr().err == "", "and yet no bar is drawn"


def test_a_vllm_whose_share_is_needed_is_ended(shared: Any) -> None:
    first, plain, second = (
        shared.models(one) for one in (section("a"), section("b", "transformers"), section("c"))
    )
    assert (first.closed, plain.closed, second.closed) == (True, False, False)
    assert shared.models(section("b", "transformers")) is plain
    again = shared.models(section("a"))
    assert again is not first and second.closed


def test_those_that_fit_together_are_kept(shared: Any) -> None:
    first, second = shared.models(section("a", share=0.4)), shared.models(section("b", share=0.4))
    third = shared.models(section("c", share=0.4))
    assert (first.closed, second.closed, third.closed) == (True, False, False)


def test_what_is_unloaded_is_free_and_loaded_again_when_it_is_needed(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vLLM's processes end; of a model in this process nothing is held, and what CUDA keeps for later is given back."""
    emptied: list[bool] = []
    monkeypatch.setattr("torch.cuda.is_initialized", lambda: True)
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: emptied.append(plain() is None))
    served, plain = shared.models(section("a")), weakref.ref(shared.models(section("b", "transformers")))
    shared.models.unload()
    assert served.closed and plain() is None and emptied == [True]
    assert shared.models(section("a")) is not served


def test_two_that_fill_the_device_are_kept_together(shared: Any) -> None:
    first, second = shared.models(section("a", share=0.5)), shared.models(section("b", share=0.5))
    assert (first.closed, second.closed) == (False, False)


def test_a_model_lets_a_pause_in_and_keeps_its_texts_where_they_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("engine.lm.loading.load.load_model", Loaded)

    def between(call: object, working: object) -> None:
        """Waits."""

    kept = KeptTexts(tmp_path / "kept.jsonl")
    model = SharedModels(lambda event: None, between, kept)(section("a"))
    assert isinstance(model, KeepingModel) and model.kept is kept and model.between is between
    assert isinstance(SharedModels(lambda event: None, between)(section("a")), Loaded)
