"""Plans of faults: from a file, or drawn from a seed; and a tape without the moves it can spare.

A plan is a list of commands, most of them with a `when` (faults.py). docs/reference/serve.md has an
example.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.exits import BadInput
from kraftcheck.kafka.serve.cluster import cluster
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.tape import Entry, Taped, entries, handled
from kraftcheck.kafka.serve.world import Setup
from kraftcheck.osutil.files import open_file
from kraftcheck.reference.sim.choices import SeededChooser, pick

Plan: TypeAlias = Sequence[dict[str, Any]]

SERVED: Final = "partition"
"""The protocol that is behind a served cluster."""
_PLAN: Final = frozenset({"topic", "move"})
DRAWN: Final = range(4, 9)
"""So many faults a drawn plan has."""
WITHIN: Final = range(1, 61)
"""The requests among which they are."""
LASTS_MS: Final = range(50, 1000)
"""For so long something is done to a broker: by time, since its clients may wait for the end."""


class Scenario(NamedTuple):
    """What a cluster is, and what is to happen to it."""

    options: dict[str, Any]
    """Of `kraftcheck serve`, by name."""
    plan: Plan


def read(path: Path) -> Plan:
    """TOML: `[[topic]]`, made first, and `[[move]]`. Raises BadInput."""
    said = _tables(path)
    if unknown := sorted(said.keys() - _PLAN):
        raise BadInput(f"{path}: {unknown[0]!r}: a plan has [[topic]] and [[move]]")
    if not said.get("move"):
        raise BadInput(f"{path}: no [[move]]")
    return _plan(path, said)


def scenario(path: Path, known: Collection[str]) -> Scenario:
    """Read a plan from TOML, with options above it.

    Both parts of a plan may be missing; `protocol` says which one is served. known: the options
    that there are. Raises BadInput.
    """
    said = _tables(path)
    if not said:
        raise BadInput(f"{path}: an empty scenario")
    protocol = said.pop("protocol", SERVED)
    if protocol != SERVED:
        # Not needed by whoever has no such scenario.
        from kraftcheck.reference.protocols import COMPOSITIONS, PROTOCOLS

        composed = {"cluster", *[each.name for each in COMPOSITIONS]}
        there = sorted(composed.union([each.name for each in PROTOCOLS]))
        is_known = protocol in there
        why = "is not served" if is_known else f"there is none; there are {', '.join(there)}"
        raise BadInput(f"{path}: protocol {protocol!r}: {why}: serve has {SERVED!r}")
    options = {key.replace("_", "-"): said[key] for key in said.keys() - _PLAN}
    for key in sorted(options):
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known))}"
            raise BadInput(f"{path}: no option {key!r}; {hint}")
    return Scenario(options, _plan(path, said))


def _tables(path: Path) -> dict[str, Any]:
    with open_file(path) as file:
        data = file.read()
    try:
        return tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None


def _plan(path: Path, said: Mapping[str, Any]) -> Plan:
    for key in _PLAN:
        listed = said.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise BadInput(f"{path}: {key}: a plan has [[topic]] and [[move]]")
    return [*[{"do": "create", **topic} for topic in said.get("topic", [])], *said.get("move", [])]


def drawn(seed: int, brokers: int) -> Plan:
    """Draw moves from a seed.

    Connections end, requests are late, and brokers die, are cut off, stand still or hear no
    metadata, and come back.
    """
    stream = SeededChooser(seed).stream("faults")
    moves: list[dict[str, Any]] = []
    for _ in range(pick(stream, DRAWN)):
        nth, broker = pick(stream, WITHIN), stream.below(brokers)
        soon = {"nth": nth}
        on = {"broker": broker, "lasts_ms": pick(stream, LASTS_MS), "when": soon}
        match stream.below(6):
            case 0:
                cut = ("before", "after", "within")[stream.below(3)]
                api = ("Produce", "Fetch")[stream.below(2)]
                met = {"api": api, "nth": pick(stream, WITHIN) // 4 + 1}
                moves.append({"do": "reset", "cut": cut, "when": met})
            case 1:
                moves.append({"do": "delay", "ms": pick(stream, range(5, 101)), "when": soon})
            case 2:
                moves.append({"do": "kill", "lose": stream.below(2) == 1, **on})
            case other:
                moves.append({"do": ("cut", "pause", "stale")[other - 3], **on})
    return moves


# --- A tape with fewer moves


class Shrunk(NamedTuple):
    """A tape that breaks the same promise. kept, removed: commands."""

    tape: Path
    promise: str
    kept: list[dict[str, Any]]
    removed: int


def shrunk(tape: Path, out: Path) -> Shrunk:
    """Play a tape with commands left out, and write what still breaks the same promise.

    The tape ends where the promise is broken.

    What clients sent stays as it was, though a client that was answered otherwise might have sent
    something else: it is the cluster that is judged, whatever is asked of it.

    Raises BadInput: no tape, or no promise is broken.
    """
    setup, arrivals = _arrivals(tape)
    promise, _ = _broken(setup, arrivals, frozenset())
    if not promise:
        raise BadInput(f"{tape}: no promise is broken")
    moves = [at for at, each in enumerate(arrivals) if each.kind == "command" and _is_move(each)]
    out_of: frozenset[int] = frozenset()
    size = len(moves)
    while size:
        for start in range(0, len(moves), size):
            tried = out_of | {*moves[start : start + size]}
            if tried != out_of and _broken(setup, arrivals, tried)[0] == promise:
                out_of = tried
        size //= 2
    _, last = _broken(setup, arrivals, out_of)
    out.parent.mkdir(parents=True, exist_ok=True)
    left = [each for at, each in enumerate(arrivals[: last + 1]) if at not in out_of]
    with out.open("wb") as file:
        taped = Taped(setup, file)
        for each in left:
            taped.arrive(each.kind, each.time, each.connection, each.data)
            taped.left()
    kept = [json.loads(each.data) for each in left if each.kind == "command" and _is_move(each)]
    return Shrunk(out, promise, kept, len(moves) - len(kept))


def _arrivals(tape: Path) -> tuple[Setup, list[Entry]]:
    listed = entries(tape)
    setup = next(listed)
    assert isinstance(setup, Setup), "the first of all entries"
    found = [each for each in listed if isinstance(each, Entry) and each.kind != "left"]
    return setup, found


def _is_move(entry: Entry) -> bool:
    return json.loads(entry.data)["do"] not in ("create", "heal")


def _broken(setup: Setup, arrivals: Iterable[Entry], without: frozenset[int]) -> tuple[str, int]:
    """The first promise that is broken, or "", and by which arrival."""
    core = cluster(setup, watched=True)
    for at, each in enumerate(arrivals):
        if at in without:
            continue
        core.advance(each.time)
        handled(core, each.kind, each.connection, each.data)
        core.effects.clear()
        if found := _promise(core):
            return found, at
    return "", -1


def _promise(core: Core) -> str:
    for each in core.world.broken:
        return each.invariant
    for partition in core.world.all:
        for violation in partition.violations:
            return violation.invariant
    return ""
