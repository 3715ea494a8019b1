"""`bugs list`, `bugs show`, `bugs matrix`: the catalogue, one bug, and who finds them."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs import violations
from kraftcheck.known_bugs.diffs import python_diffs, tla_diffs
from kraftcheck.known_bugs.entries import manifest_of, models_of, without_overlay
from kraftcheck.known_bugs.violations import Counterexample
from kraftcheck.known_bugs.witnesses import SCHEDULES, hunt_of, stored as stored_witnesses
from kraftcheck.osutil.commands import command, near
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import CATALOG, OF_STORAGE, bug
from kraftcheck.reference.protocols import parts_of
from kraftcheck.reference.storage.bugs import SEEDS, STATES
from kraftcheck.screen import Screen, room_on_screen

FINDERS = ("invariants", "progress", "histories", "steps")
"""Whose stored run `bugs show` names, the first that has one: those that need no further command
come first."""
JUDGED_BY = {"histories": "check", "steps": "conform"}
"""The command behind `simulate` that has such an oracle asked."""

LISTED = ("bug", "class", "property", "seen by", "title")


def show_list(screen: Screen) -> int:
    rows = [_row(each) for each in (*CATALOG, *OF_STORAGE)]
    screen.table(LISTED, rows)
    screen.document([as_json(each) for each in (*CATALOG, *OF_STORAGE)])
    return exits.HOLDS


def _row(each: Bug) -> list[object]:
    seen = ", ".join(each.detectors) if each.in_scope else "out of scope"
    klass = "control" if each.is_control else each.klass
    return [each.id, klass, each.property, seen, each.title]


def show(id: str, screen: Screen) -> int:
    """Print one bug: its story, both diffs, the counterexample. Raises UnknownBug."""
    found = bug(id)
    screen.line(f"{found.id}  {found.title}")
    screen.line()
    for line in textwrap.wrap(found.story, min(96, room_on_screen() or 96)):
        screen.line(line)
    screen.line()
    screen.facts(_facts(found))
    document = as_json(found)
    document["python"] = [each._asdict() for each in python_diffs(found)]
    document["tla"] = [each._asdict() for each in tla_diffs(found)]
    for title, key in (("The reference", "python"), ("The spec", "tla")):
        if document[key]:
            _heading(title, screen)
        for each in document[key]:
            for line in each["lines"]:
                screen.line(line)
    document["counterexamples"] = _show_counterexample(found, screen)
    screen.document(document)
    return exits.HOLDS


def _heading(title: str, screen: Screen) -> None:
    screen.line()
    screen.line(title)
    screen.line("-" * min(len(title), room_on_screen() or len(title)))


def _show_counterexample(found: Bug, screen: Screen) -> list[dict[str, Any]]:
    manifest = manifest_of(found.protocol)
    stored: list[Counterexample] = []
    for model in models_of(manifest, found.id):
        known = violations.load(manifest, model)
        if known is not None:
            stored.append(known)
    if not stored and "tlc" in found.detectors:
        _heading("TLC's counterexample", screen)
        search = command("bugs", "run", found.id, "--oracle", "tlc", "--full")
        screen.line(f"none is stored; search: {search}")
    if stored:
        first = stored[0]
        _heading(f"TLC's counterexample to {first.property}, {first.length} states", screen)
        screen.line(f"(model {first.model}; TLC shows one of several equivalent states)")
        for line in first.told:
            screen.line(line)
    keys = ("model", "property", "length", "told")
    return [{key: getattr(each, key) for key in keys} for each in stored]


def _facts(found: Bug) -> list[tuple[str, str]]:
    facts = [
        ("source", found.source),
        ("class", "negative control" if found.is_control else found.klass),
        ("breaks", ", ".join(found.properties)),
        _size(found),
    ]
    if not found.in_scope:
        return [*facts, ("out of scope", found.scope)]
    instead = list(found.replaces)
    if found.configuration:
        instead = [f"nothing: {found.configuration}"]
    if found in OF_STORAGE:
        by_hand = "a story told by hand, in tests/reference/storage/test_bugs.py"
        seed = SEEDS.get(found.id)
        asked = ("--bug", found.id, "--seed", seed, "--states", STATES)
        look = command("storage", "crash", *asked) if seed is not None else by_hand
        return [*facts, ("replaces", ", ".join(instead)), ("find it", look)]
    runs = ("--runs", 300) if _is_own(found) else ()
    return [
        *facts,
        ("seen by", ", ".join(found.detectors)),
        *_said("by one", found.alone),
        *(fact for oracle in found.detectors for fact in _no_run(found, oracle)),
        ("replaces", ", ".join(instead)),
        *_said("no overlay", without_overlay(found)),
        ("find it", command("bugs", "run", found.id)),
        ("print it", command("bugs", "run", found.id, *runs, "--replay")),
        *_simulated(found),
    ]


def _no_run(found: Bug, oracle: str) -> list[tuple[str, str]]:
    """Why nobody has seen in a run what the oracle is expected to see."""
    why = found.no_run.get(oracle, "")
    return _said("no run", f"{oracle}: {why}" if why else "")


def _said(label: str, text: str) -> list[tuple[str, str]]:
    """A fact on as many lines as it takes; none, when there is nothing to say."""
    lines = textwrap.wrap(text, 84)
    return [(label if number == 0 else "", line) for number, line in enumerate(lines)]


def _simulated(found: Bug) -> list[tuple[str, str]]:
    """Give the commands by which a stored run of a bug is found again.

    That is a schedule, or so many runs of a seed; nothing where no run is known.
    """
    hunt, known = hunt_of(found), stored_witnesses().get(found.id, {})
    oracle = next((each for each in FINDERS if each in known), None)
    if hunt is None or oracle is None:
        return []
    one = known[oracle]
    if one.schedule and oracle == "steps":
        # No state of it is wrong: a replay alone shows nothing, TLC has to be asked.
        return [("try it", command("bugs", "run", found.id, "--oracle", oracle, "--stored"))]
    if one.schedule:
        return [("try it", command("replay", near(SCHEDULES / one.schedule)))]
    options = [
        word
        for name, value in one.hunt_of(hunt).options.items()
        for word in ("--option", f"{name}={value if type(value) is str else json.dumps(value)}")
    ]
    seed = ("--runs", one.run + 1, "--seed", one.seed, "--bug", found.id)
    out = f"runs/{found.id}"
    told = [command("simulate", "--scenario", hunt.scenario, *seed, *options, "--out", out)]
    told += [command(JUDGED_BY[oracle], out)] if oracle in JUDGED_BY else []
    return [("try it" if not at else "", each) for at, each in enumerate(told)]


def _size(found: Bug) -> tuple[str, str]:
    """The smallest cluster that shows it."""
    if found in OF_STORAGE:
        return "replicas", str(found.nodes)
    [protocol] = parts_of(found.protocol)
    return protocol.alike, str(found.nodes)


def _is_own(found: Bug) -> bool:
    """Whether it is a bug of a protocol from outside, of which no run is stored."""
    return any(protocol.modules for protocol in parts_of(found.protocol))


def as_json(found: Bug) -> dict[str, Any]:
    return {
        "id": found.id,
        "title": found.title,
        "story": found.story,
        "source": found.source,
        "year": found.year,
        "class": found.klass,
        "properties": found.properties,
        _size(found)[0]: int(_size(found)[1]),
        "detectors": list(found.detectors),
        "replaces": list(found.replaces),
        "one_oracle": found.alone,
        "no_run": {each: found.no_run[each] for each in found.detectors if each in found.no_run},
        "no_overlay": without_overlay(found),
        "in_scope": found.in_scope,
        "scope": found.scope,
    }


# -- The matrix


def show_matrix(out: Path | None, screen: Screen) -> int:
    """Print the matrix, and write it as Markdown and HTML to `out` if that is named.

    Raises BadInput: a stored file is damaged, or `out` is not ours.
    """
    # Late: `bugs show` needs none of it.
    from kraftcheck.known_bugs.matrix import HEAD, cells_of, markdown, matrix, page, summary

    found = matrix()
    if out is not None:
        place = artifacts.claim(out)
        artifacts.write_whole(place / "matrix.md", markdown(found))
        artifacts.write_whole(place / "matrix.html", page(found))
    rows = [cells_of(line) for line in found.lines]
    screen.table(HEAD, rows)
    screen.line(summary(found))
    screen.document(msgspec.to_builtins(found))
    return exits.HOLDS
