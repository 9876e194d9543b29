"""The benches on published files keep finished runs: under the content of the files, not under their names."""

from __future__ import annotations

from pathlib import Path

from tests.bench.bench_gflownet_pathquestion import configuration, kept_as


def test_another_file_of_the_same_name_is_another_run(tmp_path: Path) -> None:
    """Else a set of one's own is given the published set's figures."""
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    for folder, question in ((one, "who?"), (same, "who?"), (other, "where?")):
        folder.mkdir()
        (folder / "PQ-2H.txt").write_text(question)
        (folder / "2H-kb.txt").write_text("triples")
    names = [kept_as("2h", folder, configuration("2h", folder, 0)).name for folder in (one, same, other)]
    assert names[0] == names[1] != names[2]
    (same / "2H-kb.txt").write_text("other triples")
    assert kept_as("2h", same, configuration("2h", same, 0)).name not in names
    assert kept_as("2h", one, configuration("2h", one, 1)).name not in names
