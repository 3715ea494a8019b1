"""`bugs matrix`: which oracle is expected to find each bug, which has, and with what figures.

Law of this file: it runs nothing. It tells what is stored: the manifest and its counterexamples,
the witnesses, the measured campaigns. What is not stored is "not measured" or "no run yet"; the
words of `detecting.py` ("missed", "clean") are for who has looked.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from kraftcheck.known_bugs import figures, schedules, violations
from kraftcheck.known_bugs.detecting import expected
from kraftcheck.known_bugs.entries import models_of, without_overlay
from kraftcheck.known_bugs.oracles import ORACLES
from kraftcheck.known_bugs.witnesses import Witness, stored as stored_witnesses
from kraftcheck.markdown import table
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import CATALOG
from kraftcheck.specs import SPECS
from tla_utils import Manifest, read_manifest

FOUND, EXPECTED, BESIDES, NONE = "found", "expected", "besides", "none"
"""Found as expected; expected, nothing stored; found, not expected; neither."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One bug and one oracle."""

    oracle: str
    state: str
    said: str = ""
    """The figures in words."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One bug."""

    bug: str
    title: str
    klass: str
    replayed: str
    """On which sides."""
    cells: list[Cell]
    note: str = ""
    """Why on fewer than two, or why by one oracle."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """All bugs by all oracles."""

    lines: list[Line]
    measured: str
    """Where and when the campaigns ran, in words."""
    counts: dict[str, int]


def matrix() -> Matrix:
    """The matrix of what is stored now. Raises BadInput: a stored file is damaged."""
    manifest = read_manifest(SPECS / "models.toml")
    witnesses, measured = stored_witnesses(), figures.load()
    lines = []
    for entry in CATALOG:
        campaigns = measured.figures.get(entry.id, {})
        cells = [_tlc(entry, manifest)]
        cells += [
            _of_runs(entry, oracle, witnesses.get(entry.id, {}).get(oracle), campaigns.get(oracle))
            for oracle in ORACLES
            if oracle != "tlc"
        ]
        lines.append(_line(entry, cells, _overlaid(entry, manifest)))
    return Matrix(lines=lines, measured=_measured(measured), counts=_counts(lines))


def _measured(measured: figures.Measured) -> str:
    """How, where and when the campaigns ran, and how much of the whole they are."""
    if not measured.figures:
        return ""
    wanted = {
        (entry.id, oracle)
        for entry in CATALOG
        for oracle in expected(entry)
        if oracle != "tlc" and not entry.is_control
    }
    done = {
        (bug, oracle)
        for bug, found in measured.figures.items()
        for oracle, figure in found.items()
        if len(figure.runs) >= figures.CAMPAIGNS
    }
    whole = len(done & wanted)
    partial = "partial, " if whole < len(wanted) else ""
    about = f"{measured.generator}; {measured.machine}, {measured.date}"
    return f"{about}; {partial}{whole} of {len(wanted)} pairs of bug and oracle are measured"


def _overlaid(entry: Bug, manifest: Manifest) -> bool:
    """Whether the specs have the bug, in a model of it."""
    return any(model.bug == entry.id and model.overlays for model in manifest.models.values())


def _line(entry: Bug, cells: list[Cell], overlaid: bool) -> Line:
    notes = []
    if not entry.in_scope:
        replayed, notes = "no", [f"not replayed: it {entry.scope}"]
    elif overlaid:
        replayed = "both sides"
    else:
        replayed, notes = "reference", [without_overlay(entry)]
    if entry.alone:
        notes.append(f"one oracle: {entry.alone}")
    klass = "control" if entry.is_control else entry.klass
    return Line(
        bug=entry.id,
        title=entry.title,
        klass=klass,
        replayed=replayed,
        cells=cells,
        note="; ".join(notes),
    )


def _state(found: bool, expects: bool) -> str:
    if found:
        return FOUND if expects else BESIDES
    return EXPECTED if expects else NONE


def _tlc(entry: Bug, manifest: Manifest) -> Cell:
    """The shortest of the counterexamples that the manifest states."""
    expects = "tlc" in entry.detectors
    models = models_of(manifest, entry.id)
    if not models:
        said = "no model of its own" if expects else ""
        return Cell(oracle="tlc", state=_state(False, expects), said=said)
    model = min(models, key=lambda each: each.length or 0)
    said = f"{model.property}, {model.length} states long"
    stored = violations.load(manifest, model)
    searched = "not measured"
    if stored is not None and stored.distinct is not None:
        searched = f"{stored.distinct:,} states, {stored.seconds:.0f} s"
    return Cell(oracle="tlc", state=_state(True, expects), said=f"{said}; search {searched}")


def _of_runs(
    entry: Bug, oracle: str, witness: Witness | None, figure: figures.Figure | None
) -> Cell:
    expects = oracle in entry.detectors
    told = entry.is_control
    seen = witness is not None or (
        figure is not None and any(each is not None for each in figure.runs)
    )
    state = _state(seen or (told and expects), expects)
    words = []
    if told and expects:
        words.append("told apart")
    elif witness is not None and witness.schedule:
        words.append(f"schedule of {len(schedules.stored(witness.schedule).moves)} moves")
    elif witness is not None:
        narrowed = " under options of its own" if witness.options else ""
        words.append(f"seed {witness.seed}, run {witness.run}{narrowed}")
    elif expects:
        why = entry.no_run.get(oracle, "")
        words.append(f"no run yet{': ' if why else ''}{why}")
    if figure is not None:
        words.append(figures.in_words(figure))
    elif expects and not told:
        words.append("seeds not measured")
    return Cell(oracle=oracle, state=state, said="; ".join(each for each in words if each))


def _counts(lines: Sequence[Line]) -> dict[str, int]:
    found = [sum(c.state in (FOUND, BESIDES) for c in line.cells) for line in lines]
    replayed = [line.replayed != "no" for line in lines]
    cells = [cell for line in lines for cell in line.cells]
    return {
        "bugs": len(lines),
        "replayed": sum(replayed),
        "both sides": sum(line.replayed == "both sides" for line in lines),
        "found by two oracles or more": sum(number >= 2 for number in found),
        "found by one": sum(number == 1 for number in found),
        "found by none": sum(n == 0 and there for n, there in zip(found, replayed, strict=True)),
        "expected detections": sum(cell.state in (FOUND, EXPECTED) for cell in cells),
        "of these stored": sum(cell.state == FOUND for cell in cells),
    }


# -- Shown

WIDTH = 100
HEAD = ("bug", "title", "class", "replayed", *ORACLES, "note")
MARKS = {FOUND: "", EXPECTED: "expected: ", BESIDES: "besides: ", NONE: "-"}


def cells_of(line: Line) -> list[str]:
    """A line of the table in words."""
    said = [MARKS[cell.state] + cell.said for cell in line.cells]
    return [line.bug, line.title, line.klass, line.replayed, *said, line.note]


def summary(found: Matrix) -> str:
    """The counts in a sentence."""
    return ", ".join(f"{count} {name}" for name, count in found.counts.items())


def markdown(found: Matrix) -> str:
    """The matrix as a table, with its counts above and the machine below."""
    rows = [[cell.replace("|", "\\|") for cell in cells_of(each)] for each in found.lines]
    below = f"Campaigns: {found.measured}." if found.measured else ""
    parts = [textwrap.fill(f"{summary(found)}.", WIDTH) + "\n", table(HEAD, rows)]
    return "\n".join([*parts, *([textwrap.fill(below, WIDTH) + "\n"] if below else [])])


def page(found: Matrix) -> str:
    """The same as a page of its own, without scripts or anything from elsewhere."""
    # Late: only who has it written waits for it.
    from kraftcheck.traces.report.html import render

    rows = []
    for each in found.lines:
        states = ["", "", "", "", *(cell.state for cell in each.cells), ""]
        rows.append((each.bug, [*zip(states, cells_of(each), strict=True)]))
    said = summary(found)
    return render("matrix.html.j2", heads=HEAD, rows=rows, summary=said, measured=found.measured)
