"""The table of figures, and how what is measured is held against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import board
from benchmarks.__main__ import benchmarks
from benchmarks.board import FIGURES, Now, written


def text_of(repo_root: Path) -> str:
    return (repo_root / "docs" / "measured" / "figures.md").read_text(encoding="utf-8")


def test_the_table_has_each_figure_with_its_unit(repo_root: Path) -> None:
    table = written(text_of(repo_root))
    assert {name: unit for name, (_, unit) in table.figures.items()} == {
        name: figure.unit for name, figure in FIGURES.items()
    }
    assert table.loop > 0


def test_the_table_names_benchmarks_that_there_are(repo_root: Path) -> None:
    rows = [line for line in text_of(repo_root).splitlines() if board.ROW.match(line)]
    last = [row.split("|")[4] for row in rows]
    assert all("`" in cell for cell in last), "each row says how it is measured"
    assert {cell.split("`")[1] for cell in last} <= set(benchmarks())


def test_a_slower_machine_is_no_worse_figure() -> None:
    """Twice the loop, half the rate: as written. A ratio between two clusters stays as it is."""
    assert Now(500, 0.6).ratio("simulator, a quorum", 1000, 0.3) == 1
    assert Now(20, 0.6).ratio("a verb", 10, 0.3) == 1
    assert Now(0.5, 0.6).ratio("`serve`, batches", 0.5, 0.3) == 1
    assert Now(500, 0.3).ratio("simulator, a quorum", 1000, 0.3) == 0.5


def board_with(monkeypatch: pytest.MonkeyPatch, repo_root: Path, quicker: float) -> None:
    table = written(text_of(repo_root))

    def measured(name: str) -> Now:
        was = table.figures[name][0]
        return Now(was * quicker if FIGURES[name].more else was / quicker, table.loop)

    monkeypatch.setattr(board, "apart", lambda _, name: measured(name))


def test_what_is_as_written_passes(
    monkeypatch: pytest.MonkeyPatch, repo_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board_with(monkeypatch, repo_root, 0.8)
    board.main([])
    out = capsys.readouterr().out
    assert "worse" not in out and len(out.splitlines()) == len(FIGURES) + 2


def test_what_has_become_worse_by_a_third_is_told(
    monkeypatch: pytest.MonkeyPatch, repo_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board_with(monkeypatch, repo_root, 0.7)
    with pytest.raises(SystemExit) as ended:
        board.main(["a verb"])
    assert ended.value.code == 1 and "0.70  worse by a third" in capsys.readouterr().out


def test_what_is_measured_is_written_as_on_the_tables_machine(repo_root: Path) -> None:
    text = text_of(repo_root)
    loop = written(text).loop
    changed = board.rewritten(text, {"a verb": Now(500, 2 * loop)}, loop)
    assert written(changed).figures["a verb"] == (250, "ms")
    assert len(changed.splitlines()) == len(text.splitlines())


def test_a_figure_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        board.main(["speed"])
    assert ended.value.code == 3 and "no figure 'speed'; there are: " in capsys.readouterr().err


def test_a_page_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table of figures"):
        written("# kraftcheck\n")
