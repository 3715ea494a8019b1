"""A path: a schedule of moves, made so far, and everything that the page shows of it.

The page sends the whole path with each request, as a schedule (reference/steered/scripts.py). So a
view is a function of the request: tabs, reloads and restarts of the server need nothing else. The
runs of the last paths are kept, so that one more move costs one move.

Law of this file: nothing here chooses, and nothing knows of a protocol but through a steered run.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.picture import fields_of
from kraftcheck.reference.bugs.catalog import UnknownBug
from kraftcheck.reference.core.system import HOW
from kraftcheck.reference.drivers.script import LOST, ScriptedRun
from kraftcheck.reference.protocols import kind_of_row, parts_of
from kraftcheck.reference.runner.narrate import field_words, render_input
from kraftcheck.reference.runner.run import taken
from kraftcheck.reference.runner.scripted import (
    AnySchedule,
    ImpossibleMove,
    begin,
    option_of,
    problem,
    usual_options,
)
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.moves import Move
from kraftcheck.reference.steered.scripts import MACHINES, Script, write

MOVES_MAX: Final = 2000
"""A path is no longer, so that a page that is left alone with a key held down stays small."""
KEPT: Final = 8
"""Runs that are kept, of the last paths."""
LOSE: Final = "lose "
"""The words with which a partition's and a cluster's moves lose a message."""
VARIANTS: Final = {
    LOST: "take it, and nobody hears what it sends",
    HOW["late again"]: "it arrives late, and comes again",
    HOW["again"]: "it arrives, and comes again",
    HOW["late"]: "it arrives late",
    HOW["lose"]: "lose it",
}
"""How words end that give another move's input in another way, and what the page calls that."""
DISTURBING: Final = re.compile(
    r"Crash|Shutdown|SessionTimeout|Failover|Resign|UNCLEAN|DeleteRecords|FailDirectory|Unregister"
    r"|\bcut |\bheal |stalls|clock of|disks and clocks|breaks|gives up|\bdrop|\bcrash|is slow"
)
"""Words of moves that disturb: the page folds them away, and a calm walk makes none."""
_ENDS: Final = re.compile(r"(-?\w+) -> (-?\w+) |\w+ (\w+)>(\w+)\b")


NO_STEP: Final = "no node takes a step"


class Offer(NamedTuple):
    """A possible move."""

    words: str
    base: str
    """The words without the variant."""
    variant: str
    """Of VARIANTS; empty for the usual input."""
    node: str
    """The one that moves, by the name of its state, or empty."""
    kind: str
    """Message, own, client or fault."""


class Played:
    """A run that was steered along a path. Raises BadInput: there is no such run."""

    def __init__(self, script: Script) -> None:
        self.script = replace_moves(script, ())
        if script.machine not in MACHINES:
            raise BadInput(f"no machine {script.machine!r:.40}; there are {', '.join(MACHINES)}")
        try:
            self.schedule: AnySchedule = begin(self.script)
            if refused := problem(self.schedule):
                raise ValueError(f"options: {refused}")
        except (UnknownBug, ValueError, AssertionError) as error:
            raise BadInput(str(error).removeprefix("line 5: ")) from None
        self.moves: list[str] = []
        self.failure: Failure | None = None
        self._first = self._before = self.schedule.named_rows()
        self._offers: dict[str, Offer] = {}
        """By words: what a move's words say, whenever it is possible."""
        self._counts = [self._steps()]
        self._told: list[list[str]] = []

    # --- Moves

    def possible(self) -> list[Move]:
        """All moves that are possible now; none after a failure."""
        return [] if self.failure else [*self.schedule.possible()]

    def offer(self, words: str) -> Offer:
        """What the words of a move say."""
        found = self._offers.get(words)
        if found is None:
            found = self._offers[words] = self._read(words)
        return found

    def make(self, words: str) -> None:
        """Raises ImpossibleMove: there is no such move now."""
        move = next((each for each in self.schedule.possible() if each.words == words), None)
        if move is None:
            near = get_close_matches(words, [each.words for each in self.schedule.possible()], n=1)
            raise ImpossibleMove(len(self.moves), words, near)
        self.make_move(move)

    def make_move(self, move: Move) -> None:
        """Makes one of the possible moves."""
        self._before = self.schedule.named_rows()
        self.moves.append(move.words)
        try:
            move.make()
        except Failure as failure:
            self.failure = failure
        self._counts.append(self._steps())

    def _read(self, words: str) -> Offer:
        base = words
        variant = next((end for end in VARIANTS if words.endswith(end) and end), "")
        base = base.removesuffix(variant)
        if LOSE in words and not variant:
            base, variant = words.replace(LOSE, "", 1), HOW["lose"]
        ends = _ENDS.search(base)
        node = self._node_of(base, ends)
        kind = "own"
        if variant or DISTURBING.search(base):
            kind = "fault"
        elif (ends is not None and ends[3] == "K") or "client of" in base or "producer" in base:
            kind = "client"
        elif ends is not None and "Timeout" not in base:
            kind = "message"
        return Offer(words, base, variant, node, kind)

    def _node_of(self, base: str, ends: re.Match[str] | None) -> str:
        """The node that takes the input, by the name of its state; empty: none does."""
        component, colon, body = base.partition(": ")
        if not colon or not re.fullmatch(r"quorum|partition \d+", component):
            component, body = "", base
        if ends is not None and ends[2]:
            body = f"{ends[2]} "
        for name in self._first:
            of, _, own = name.rpartition(", ")
            if of != component and (of or component.startswith("partition")):
                continue
            number = own.split()[-1]
            if body.startswith((f"{own} ", f"{number} ")):
                return name
        return ""

    # --- What it led to

    def roles(self) -> dict[str, str]:
        """By node, what it is in a word."""
        rows = self.schedule.named_rows().items()
        return {name: str(kind_of_row(row).role(row)) for name, row in rows}

    def _steps(self) -> int:
        return len(self.schedule.recorder.steps.items)

    def outcomes(self) -> list[list[str]]:
        """For each move, what the steps that it led to sent, or why they ignored their input."""
        known = len(self._told)
        for index, step in enumerate(taken(self.schedule.recorder)[known:], known):
            words = [f"sends {render_input(each, field_words)}" for each in step.sent]
            words += [f"ignores it: {step.ignored}"] * bool(step.ignored)
            if index not in self._counts:  # Heard at once from another step.
                words.insert(0, f"and {step.node} takes {render_input(step.input, field_words)}")
            self._told.append(words)
        return [
            [line for step in self._told[a:b] for line in step] if b > a else [NO_STEP]
            for a, b in pairwise(self._counts)
        ]

    def script_so_far(self) -> Script:
        violates = self.failure.name if self.failure else ""
        return msgspec.structs.replace(self.script, moves=tuple(self.moves), violates=violates)

    def view(self) -> dict[str, Any]:
        """Everything that the page shows, as JSON."""
        script, roles = self.script_so_far(), self.roles()
        groups: dict[str, dict[str, Any]] = {}
        for move in self.possible():
            each = self.offer(move.words)
            group = groups.setdefault(each.base, {"node": each.node, "kind": each.kind})
            if not each.variant:
                group["kind"] = each.kind
            group.setdefault("moves", []).append([VARIANTS.get(each.variant, ""), each.words])
        return {
            "machine": script.machine,
            "bug": script.bug,
            "options": dict(script.options),
            "moves": self.moves,
            "told": self.outcomes(),
            "nodes": [
                {
                    "name": name,
                    "role": roles[name],
                    "was": _differing(self._before.get(name), row),
                    "shown": [*_differing(self._first.get(name), row)],
                    "fields": fields_of(row),
                }
                for name, row in self.schedule.named_rows().items()
            ],
            "groups": [{"words": base, **group} for base, group in groups.items()],
            "violation": _as_json(self.failure),
            "properties": [
                {"name": each.name, "sentence": each.sentence} for each in self._properties()
            ],
            "text": write(script),
        }

    def _properties(self) -> Iterator[Any]:
        """Those that are evaluated after each move."""
        if self.script.options.get("watched", True) is False:
            return
        schedule = self.schedule
        unkept = schedule.unkept() if isinstance(schedule, ScriptedRun) else ()
        for part in parts_of(self.script.machine):
            of = part.world.properties if part.world and part.by_chance else part.properties
            yield from (each for each in of if each.name not in unkept)


class Paths:
    """The runs of the paths that were asked for last."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Played] = OrderedDict()

    def played(self, script: Script, fitting: bool = False) -> tuple[Played, str]:
        """The run of a path, and why it is shorter than was asked for, if it is.

        Args:
            fitting: make the moves up to the first that is not possible.

        Raises:
            BadInput: no such machine, bug or option; too many moves.
            ImpossibleMove: a move is not possible, and it is not `fitting`.
        """
        moves = script.moves
        if len(moves) > MOVES_MAX:
            raise BadInput(f"a path has at most {MOVES_MAX:,} moves, and this one {len(moves):,}")
        found = self._take(script) or Played(script)
        why = ""
        try:
            for words in moves[len(found.moves) :]:
                if found.failure is not None:
                    left, name = len(moves) - len(found.moves), found.failure.name
                    why = f"{name} is violated by move {len(found.moves)}: {left} more left out"
                    break
                found.make(words)
        except ImpossibleMove as error:
            if not fitting:
                raise
            why = f"move {error.index + 1}: {error}"
        return self.keep(found), why

    def _take(self, script: Script) -> Played | None:
        """The longest known beginning of a path, which is no longer known as such."""
        for at in range(len(script.moves), 0, -1):
            key = _key(script, script.moves[:at])
            if key in self._known:
                return self._known.pop(key)
        return None

    def forget(self, played: Played) -> None:
        """It is about to go elsewhere."""
        self._known.pop(_key(played.script, played.moves), None)

    def keep(self, played: Played) -> Played:
        """The run, which is found again by its path."""
        self._known[_key(played.script, played.moves)] = played
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return played


def _key(script: Script, moves: Sequence[str]) -> bytes:
    head = [script.machine, script.bug, dict(script.options), *moves]
    return msgspec.json.encode(head, order="sorted")


def replace_moves(script: Script, moves: Sequence[str]) -> Script:
    return msgspec.structs.replace(script, moves=tuple(moves))


def _differing(then: Any, now: Any) -> dict[str, str]:
    """The fields that have another value now, with the value that they had."""
    was = {} if then is None else fields_of(then)
    return {k: was.get(k, "") for k, v in fields_of(now).items() if was.get(k) != v}


def _as_json(failure: Failure | None) -> dict[str, str] | None:
    if failure is None:
        return None
    return {"name": failure.name, "sentence": failure.sentence, "what": failure.what}


def options_from(machine: str, words: Sequence[str]) -> dict[str, Any]:
    """The options of a machine from NAME=VALUE, as `simulate` reads them: a value is JSON, or text.

    Raises BadInput: words of another form, no such option, no value of it.
    """
    options = usual_options(machine)
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise BadInput(f"--option {word}: write NAME=VALUE")
        options[name] = option_of(machine, name, text)
    Played(Script(machine=machine, moves=(), options=options))
    return options
