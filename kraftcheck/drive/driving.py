"""`drive`: moves that the reference found are made with a node of somebody else's, and judged.

What is written: `steps.jsonl`, every step of every run, as the node and its peers took it
(docs/foreign-traces.md), which `conform` and `replay` take; and `drive.json`, what was met.

A run goes on for as long as the node answers as the reference does. Where it does not, the run ends
with that step, and the first run with such a difference is made small by leaving moves out, with
the node itself. Whether the spec allows the step TLC says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck import artifacts, exits, foreign
from kraftcheck.drive.node import Asked, running
from kraftcheck.drive.peers import Move, PeerOutcome, Peers, State, usual
from kraftcheck.drive.seeking import (
    Explored,
    Feature,
    Refused,
    features_of,
    is_decision,
    refusal,
    seek,
)
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import schedules
from kraftcheck.known_bugs.witnesses import WATCHED
from kraftcheck.osutil.commands import command as command_line
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.sim.choices import SeededChooser, Stream
from kraftcheck.screen import Screen
from kraftcheck.traces.foreign.forms import FORMAT
from kraftcheck.traces.foreign.reading import ForeignStep, StepReader
from kraftcheck.traces.schema import TraceError
from kraftcheck.witness.speech import Speech, constants_form

STEPS, RESULT = "steps.jsonl", "drive.json"
ROUNDS: Final = 6
"""So often what the node does not take is left out, and the search begins again."""
AFTERWARDS: Final = 6
"""Moves by chance after those that were sought: what a step has spoilt may show in a later one."""
WALKS: Final = 60
WALK: Final = 30
"""Runs that go to a state that was found, whichever, and so many moves on from there by chance: one
way to ask a rule is not all."""
LISTED: Final = 5
NOT_TAKEN: Final = "notTaken"


class _Play(NamedTuple):
    """A run that was made."""

    lines: list[str]
    """Of the trace."""
    moves: list[Move]
    """Those that were."""
    difference: tuple[str, ...]
    """Where the node differs from the reference: the action, and fields; empty if it does not."""


@dataclass
class _Driven:
    """What the runs came to so far."""

    lines: list[str] = field(default_factory=list)
    runs: int = 0
    steps: int = 0
    """Of the node."""
    schedules: int = 0
    """How many were followed."""
    features: Counter[Feature] = field(default_factory=Counter)
    """Which the node has met."""
    refused: dict[Refused, str] = field(default_factory=dict)
    """Inputs that it did not take, with its first reason."""
    differences: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How many runs ended with each."""
    reachable: dict[Feature, None] = field(default_factory=dict)
    """What the reference came to in the last round."""


class _Driver:
    """One node, asked."""

    def __init__(self, peers: Peers, node: int, process: Asked, stream: Stream) -> None:
        self.peers, self.node, self.process, self.stream = peers, node, process, stream
        self.speech = Speech(peers.constants)
        self.driven = _Driven()
        self.header: dict[str, Any] = {}
        self.reader: StepReader | None = None
        self._state = peers.first()
        """In which the run is now."""

    @property
    def full(self) -> bool:
        return bool(self.header.get("rows") == "full")

    def begin(self) -> None:
        """A new node. Raises BadInput: it answers with no header, or with that of another run."""
        constants = constants_form(self.peers.constants)
        told = {"node": self.node, "constants": constants}
        header = self.process.ask(msgspec.json.encode(told).decode())
        if self.reader is None or header != self.header:
            if header.get("format") != FORMAT:
                raise self.process.refused(f'no header of a trace: "format" is not "{FORMAT}"')
            header = {"producer": "", **header}
            try:
                reader = StepReader(Path("header"), msgspec.json.encode(header))
            except TraceError as error:
                raise self.process.refused(f"its header: {_said(error)}") from None
            if reader.constants != self.peers.constants:
                raise self.process.refused("its header has other constants than it was told")
            if not reader.from_initial:
                raise self.process.refused("its header: start: a new node begins in its first row")
            self.reader, self.header = reader, header

    # --- One step

    def step(
        self, state: State, move: Move, made: PeerOutcome
    ) -> tuple[str, tuple[str, ...]] | str:
        """Give an input to the node; return the line of the trace and how it differs.

        Or why the node did not take it. Raises BadInput.
        """
        input = self.speech.text(move.input)
        answer = self.process.ask(f'{{"input":{input}}}')
        if NOT_TAKEN in answer:
            return str(answer[NOT_TAKEN]) or "no reason given"
        line = {**self._known(state, move, input), **answer, "run": self.driven.runs}
        text = msgspec.json.encode(line).decode()
        before = self.peers.row(state, self.node)
        expected = [
            self.speech.line(self.node, before, move.input, each)
            for each in (made, *self.peers.others(state, move))
        ]
        if self.full and any(_is_same(answer, each) for each in expected):
            difference: tuple[str, ...] = ()
        else:
            given = self._read(text)
            differences = [self._differing(given, each) for each in expected]
            difference = () if () in differences else differences[0]
        self.driven.steps += 1
        return text, difference

    def _known(self, state: State, move: Move, input: str) -> dict[str, Any]:
        """What an answer need not repeat."""
        known: dict[str, Any] = {"node": self.node}
        if self.full:
            row = self.speech.row_text(self.peers.row(state, self.node))
            known["before"] = msgspec.Raw(row.encode())
        known["input"] = msgspec.Raw(input.encode())
        return known

    def _read(self, text: str) -> ForeignStep:
        assert self.reader is not None, "the run has begun"
        try:
            return self.reader.step(self.process.told, text.encode(), self.full)
        except TraceError as error:
            raise self.process.refused(_said(error)) from None

    def _differing(self, given: ForeignStep, line: str) -> tuple[str, ...]:
        """In which fields an answer differs from a step of the reference; with the action."""
        assert self.reader is not None, "the run has begun"
        wanted = self.reader.step(0, line.encode(), True)
        wrong = [
            f"{part}.{name}"
            for part in ("before", "input", "after")
            for name, value in (getattr(given, part) or {}).items()
            if getattr(wanted, part)[name] != value
        ]
        if given.ignored is not None and given.ignored != wanted.ignored:
            wrong.append("ignored")
        if given.sent is not None and not _same_messages(given.sent, wanted.sent or ()):
            wrong.append("sent")
        return (wanted.action, *wrong) if wrong else ()

    # --- A run

    def play(self, moves: Iterable[Move], chance: int = 0) -> _Play:
        """Play these moves from the beginning, then some by chance, until the node differs.

        Moves that are not possible are left out. The node differs from the reference.
        """
        self.begin()
        state = self._state = self.peers.first()
        lines, done = list[str](), list[Move]()
        for move in self._with_chance(moves, chance):
            if not self.peers.possible(state, move):
                continue
            made = self.peers.made(state, move)
            if made is None:
                continue
            if move.node != self.node:
                if self.full:
                    row = self.peers.row(state, move.node)
                    text = self.speech.line(move.node, row, move.input, made)
                    lines.append(f'{text.removesuffix("}")},"run":{self.driven.runs}}}')
            else:
                key = refusal(self.peers, state, move)
                answer = self.step(state, move, made)
                if isinstance(answer, str):
                    self.driven.refused.setdefault(key, answer)
                    continue
                lines.append(answer[0])
                if answer[1]:
                    return _Play(lines, [*done, move], answer[1])
                self.driven.features.update(features_of(self.peers, state, move, made))
            done.append(move)
            state = self._state = self.peers.after(state, move, made)
        return _Play(lines, done, ())

    def _with_chance(self, moves: Iterable[Move], more: int) -> Iterator[Move]:
        yield from moves
        frequencies: dict[str, int] = {}
        for _ in range(more):
            drawn = self.peers.drawn(self.stream, self._state, frequencies, self.node)
            if drawn is not None:
                yield drawn[0]

    def keep(self, play: _Play) -> None:
        """A run that goes into the trace; of those with one difference, the first, made small."""
        if play.difference:
            self.driven.differences[play.difference] += 1
            if self.driven.differences[play.difference] > 1:
                return
            play = self._small(play)
        if any(f'"node":{self.node},' in line for line in play.lines):
            self.driven.lines += play.lines
            self.driven.runs += 1

    def _small(self, play: _Play) -> _Play:
        """The same difference with as few moves as leaving out can reach."""
        size = len(play.moves) // 2
        while size:
            at = 0
            while at < len(play.moves):
                fewer = self.play([*play.moves[:at], *play.moves[at + size :]])
                if fewer.difference == play.difference and len(fewer.moves) < len(play.moves):
                    play = fewer
                else:
                    at += size
            size //= 2
        return play


def _is_same(answer: dict[str, Any], line: str) -> bool:
    """Say whether a node's answer is this step of the reference, letter by letter.

    Most are, and need not be read field by field.
    """
    wanted = msgspec.json.decode(line)
    return {"after", "sent"} <= answer.keys() <= wanted.keys() and all(
        answer[part] == wanted[part] for part in answer
    )


def _same_messages(given: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Say whether the given messages are the wanted ones, as far as their fields are known.

    None may be missing.
    """
    left = list(wanted)
    for each in given:
        fits = [m for m in left if all(m.get(name) == value for name, value in each.items())]
        if not fits:
            return False
        left.remove(fits[0])
    return not left


def _said(error: TraceError) -> str:
    return str(error).partition(": ")[2] or str(error)


# --- The verb


def of_protocol(
    protocol: str,
    command: Sequence[str],
    node: int | None,
    constants: str | None,
    **how: Any,
) -> int:
    """The verb.

    constants: as they stand in a header, without the protocol if one likes. Raises as `drive`;
    BadInput: there is no such protocol, or it has no such constants.
    """
    found = next((each for each in PROTOCOLS if each.name == protocol), None)
    if found is None:
        known = ", ".join(each.name for each in PROTOCOLS)
        raise BadInput(f"there is no protocol {protocol}; there are {known}")
    chosen = _constants(found, constants)
    return drive(command, chosen, found.nodes(chosen)[0] if node is None else node, **how)


def _constants(protocol: Protocol, said: str | None) -> Any:
    """Raises BadInput."""
    if said is None:
        return usual(protocol)
    try:
        form = msgspec.json.decode(said)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"--constants: no JSON: {error}") from None
    if not isinstance(form, dict):
        raise BadInput("--constants: an object of the header's constants is wanted")
    header = {"format": FORMAT, "rows": "full", "constants": {"protocol": protocol.name, **form}}
    try:
        found = StepReader(Path("--constants"), msgspec.json.encode(header)).constants
    except TraceError as error:
        raise BadInput(f"--constants: {_said(error)}") from None
    if not isinstance(found, protocol.constants):
        raise BadInput(f"--constants: they are not those of {protocol.name}")
    return found


def drive(
    command: Sequence[str],
    constants: Any,
    node: int,
    *,
    seed: int,
    search: int,
    out: Path,
    screen: Screen,
    seeking: bool = True,
) -> int:
    """search: moves that the reference makes to find a way, in each round.

    seeking: off, runs are by chance, and as many steps long as those that seek.

    Raises BadInput: the node cannot be asked, or answers what cannot be read; ToolError: TLC cannot
    be used.
    """
    peers = Peers(constants)
    if node not in peers.nodes:
        raise BadInput(f"--node {node}: there are {', '.join(map(str, peers.nodes))}")
    place = artifacts.claim(out)
    stream = SeededChooser(seed).stream("faults")
    with running(command) as process:
        driver = _Driver(peers, node, process, stream)
        screen.doing(f"{command[0]} is started, and waited for")
        driver.begin()
        screen.doing("")
        (_rounds if seeking else _by_chance)(driver, search, screen)
    driven = driver.driven
    if not driven.steps:
        why = next(iter(driven.refused.values()), "no move was found")
        raise BadInput(f"the node took no input: {why}")
    header = msgspec.json.encode({**driver.header, "producer": driver.header["producer"]}).decode()
    artifacts.write_whole(place / STEPS, "\n".join([header, *driven.lines, ""]))
    return _concluded(driver, place, screen)


def _rounds(driver: _Driver, search: int, screen: Screen) -> None:
    _follow(driver, screen)
    for number in range(1, ROUNDS + 1):
        refused = len(driver.driven.refused)
        with screen.progress(f"round {number}: seeking", search) as meter:
            args = driver.peers, driver.node, driver.stream, search, driver.driven.refused
            found = seek(*args, meter.update)
        _play_all(driver, found, number, screen)
        if len(driver.driven.refused) == refused:
            return


def _follow(driver: _Driver, screen: Screen) -> None:
    """The stored schedules under these constants: they come to where walks hardly do."""
    scripts = schedules.every(driver.peers.protocol.name)
    with screen.progress("stored schedules", len(scripts)) as meter:
        for done, (_, script) in enumerate(scripts):
            run = schedules.run(script, WATCHED, None)
            if run.result.constants == driver.peers.constants:
                moves = [Move(each.node, each.input) for each in run.steps]
                driver.keep(driver.play(moves, AFTERWARDS))
                driver.driven.schedules += 1
            meter.update(done + 1, f"{driver.driven.steps:,} steps")


def _play_all(driver: _Driver, found: Explored, number: int, screen: Screen) -> None:
    """The way to each feature that the node has not met yet; decisions first, then the nearest."""
    driven = driver.driven
    driven.reachable = dict.fromkeys(found.features)
    depth = {each: found.seen[at].depth for each, at in found.features.items()}
    order = sorted(found.features, key=lambda each: (not is_decision(each), depth[each], each))
    with screen.progress(f"round {number}: driving", len(order)) as meter:
        for done, feature in enumerate(order):
            if feature not in driven.features:
                driver.keep(driver.play(found.path(feature), AFTERWARDS))
            meter.update(done + 1, f"{driven.steps:,} steps")
    with screen.progress(f"round {number}: walking on", WALKS) as meter:
        for done in range(WALKS):
            at = driver.stream.below(len(found.seen))
            driver.keep(driver.play(found.way(at), WALK))
            meter.update(done + 1, f"{driven.steps:,} steps")


def _by_chance(driver: _Driver, search: int, screen: Screen) -> None:
    with screen.progress("driving", search) as meter:
        while driver.driven.steps < search:
            before = driver.driven.steps
            driver.keep(driver.play((), 80))
            meter.update(min(search, driver.driven.steps), f"{driver.driven.runs:,} runs")
            if driver.driven.steps == before:
                return


def _concluded(driver: _Driver, place: Path, screen: Screen) -> int:
    driven = driver.driven
    judged = foreign.judge(place / STEPS, None, screen, driver.node)
    met = sum(map(is_decision, driven.features))
    missed = [each for each in driven.reachable if each not in driven.features]
    foreign.show(judged, screen)
    screen.facts(
        [
            (
                "driven",
                f"node {driver.node}, {driven.steps:,} steps in {driven.runs:,} runs; "
                f"{driven.schedules} stored schedules",
            ),
            ("met", f"{met} answers of rules, {len(driven.features) - met} kinds of step"),
            *_differing(driven),
            *_missed(missed),
            *_not_taken(driven),
            ("steps", str(place / STEPS)),
            ("next", command_line("replay", place / STEPS)),
        ]
    )
    told = {
        "node": driver.node,
        "steps_of_node": driven.steps,
        "runs": driven.runs,
        "schedules": driven.schedules,
        "differs": [
            {"action": action, "in": parts, "runs": times}
            for (action, *parts), times in driven.differences.most_common()
        ],
        "met": sorted([list(each) for each in driven.features]),
        "missed": sorted(map(list, missed)),
        "not_taken": [
            {"input": name, "role": role, "why": why}
            for (name, role), why in sorted(driven.refused.items())
        ],
        "judged": foreign.document(judged),
    }
    artifacts.write_sealed(place / RESULT, told)
    screen.document(told)
    return exits.code_of(judged.found.verdict)


def _differing(driven: _Driven) -> Iterator[tuple[str, str]]:
    """What differs from the reference; whether the spec allows it the verdict says."""
    label = "differs"
    for (action, *parts), times in driven.differences.most_common(LISTED):
        yield label, f"{action} in {', '.join(parts)}: {times:,} runs, one is kept"
        label = ""


def _missed(missed: Sequence[Feature]) -> Iterator[tuple[str, str]]:
    """What the reference came to and the node did not."""
    if not missed:
        return
    decisions = [" ".join(each) for each in missed if is_decision(each)]
    kinds = len(missed) - len(decisions)
    yield "not met", f"{len(decisions)} answers, {kinds} kinds of step that the reference came to"
    for each in decisions[:LISTED]:
        yield "", each


def _not_taken(driven: _Driven) -> Iterator[tuple[str, str]]:
    by_why: dict[tuple[str, str], list[str]] = {}
    for (name, role), why in sorted(driven.refused.items()):
        by_why.setdefault((name, why), []).append(role)
    for (name, why), roles in by_why.items():
        yield "not taken", f"{name} as {', '.join(roles)}: {why}"
