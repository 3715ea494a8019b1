"""The matrix tells what is stored, and says of everything else that it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import figures, matrix
from kraftcheck.known_bugs.figures import Figure, Measured
from kraftcheck.known_bugs.matrix import BESIDES, EXPECTED, FOUND, NONE, Line, Matrix
from kraftcheck.known_bugs.witnesses import Witness
from kraftcheck.reference.bugs.catalog import CATALOG, bug


def line_of(bug: str) -> Line:
    return next(line for line in matrix.matrix().lines if line.bug == bug)


def test_every_row_is_replayed_on_both_sides_or_says_why_not() -> None:
    found = matrix.matrix()
    assert [line.bug for line in found.lines] == [each.id for each in CATALOG]
    numbers = [*range(1, 81), *range(82, 88), *range(89, 118)]
    numbers += [*range(119, 140), 155, 160, *range(163, 171), *range(172, 178)]
    numbers += [*range(180, 186), 187, *range(190, 203)]
    numbers += [210, *range(215, 222), *range(240, 251), *range(300, 306), *range(308, 314)]
    numbers += [*range(410, 417), *range(420, 429), *range(430, 436)]
    numbers += [*range(440, 447), *range(450, 456), *range(460, 466)]
    assert [line.bug for line in found.lines] == [f"Z{number:02d}" for number in numbers]
    for line in found.lines:
        assert line.replayed == "both sides" or line.note, line.bug
    assert found.counts["both sides"] >= 45


def test_what_one_oracle_alone_has_found_says_why() -> None:
    for line in matrix.matrix().lines:
        entry = bug(line.bug)
        if not entry.in_scope:
            continue
        found = sum(cell.state in (FOUND, BESIDES) for cell in line.cells)
        assert bool(entry.alone) == (found < 2), line.bug
        assert (f"one oracle: {entry.alone}" in line.note) == bool(entry.alone)


def test_an_expected_detection_without_a_run_says_why() -> None:
    missing = {
        (line.bug, cell.oracle)
        for line in matrix.matrix().lines
        for cell in line.cells
        if cell.state == EXPECTED and cell.oracle != "tlc"
    }
    said = {(each.id, oracle): why for each in CATALOG for oracle, why in each.no_run.items()}
    assert missing == said.keys() and all(said.values())


def test_a_cell_says_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"Z06": {"steps": Witness(seed=1, run=7), "progress": Witness(seed=1, run=2)}}
    campaigns = {"Z06": {"steps": Figure(limit=50, runs=[3, 5, None])}}
    monkeypatch.setattr(matrix, "stored_witnesses", lambda: runs)
    monkeypatch.setattr(
        figures, "load", lambda: Measured(machine="a machine", date="today", figures=campaigns)
    )
    tlc, steps, invariants, _, progress = line_of("Z06").cells
    assert tlc.state == FOUND and tlc.said.startswith("LeaderCompleteness, 9 states long")
    said = "seed 1, run 7; median 5, p90 >50; 3 campaigns, 1 without"
    assert (steps.state, steps.said) == (FOUND, said)
    assert (invariants.state, invariants.said) == (EXPECTED, "no run yet; seeds not measured")
    assert (progress.state, progress.said) == (BESIDES, "seed 1, run 2")
    assert "a machine, today; partial, 0 of " in matrix.matrix().measured
    assert {cell.state for cell in line_of("Z57").cells} == {NONE}
    assert line_of("Z54").cells[3].said == "told apart"


def test_markdown_and_html_hold_every_line() -> None:
    found = matrix.matrix()
    table = matrix.markdown(found).splitlines()
    rows = [each for each in table if each.startswith("| Z")]
    assert len(rows) == len(CATALOG) and {row.count(" | ") for row in rows} == {
        len(matrix.HEAD) - 1
    }
    page = matrix.page(found)
    assert all(f'<tr id="{each.id}">' in page for each in CATALOG)
    assert "<script" not in page and "http" not in page


def test_what_stands_in_a_cell_is_no_markup() -> None:
    odd = Line(bug="Z00", title="a | b", klass="safety", replayed="no", cells=[], note="<i>")
    small = Matrix(lines=[odd], measured="", counts={"bugs": 1})
    assert "a \\| b" in matrix.markdown(small)
    assert "&lt;i&gt;" in matrix.page(small) and "<i>" not in matrix.page(small)


def test_the_command_prints_and_writes_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = CliRunner().invoke(cli, ["bugs", "matrix", "--out", str(out), "--json"])
    assert shown.exit_code == 0
    assert len(json.loads(shown.stdout)["lines"]) == len(CATALOG)
    assert (out / "matrix.md").read_text("utf-8") == matrix.markdown(matrix.matrix())
    assert (out / "matrix.html").read_text("utf-8") == matrix.page(matrix.matrix())


# -- The figures


def test_campaigns_without_a_detection_count_as_late_ones() -> None:
    figure = Figure(limit=40, runs=[4, None, 1, None, None])
    assert figures.quantile(figure.runs, 0.2) == 1
    assert figures.in_words(figure) == "median >40, p90 >40; 5 campaigns, 3 without"


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    assert figures.load(path) == Measured()
    measured = Measured(
        machine="m",
        date="d",
        figures={bug("z06").id: {"steps": Figure(limit=2, runs=[1, None])}},
    )
    figures.store(measured, path)
    assert figures.load(path) == measured
    path.write_text("[]")
    with pytest.raises(BadInput, match="is damaged"):
        figures.load(path)
