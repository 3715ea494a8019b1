"""A counterexample of TLC, told.

The reference, with the model's bug, follows TLC's states (traces/counterexamples). The run that
comes of it is told and drawn as any run is: each message stands where it was sent and where it
arrived, also where a reduced model fuses an exchange into one step. Where the reference does not
follow, and of what lasts for ever, the states are told: what changed from each to the next.

Law of this file: nothing is guessed. From which state on TLC alone is told stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run
from kraftcheck.traces.counterexamples import endings
from kraftcheck.traces.counterexamples.moves import way
from kraftcheck.traces.counterexamples.plain import Way
from kraftcheck.traces.counterexamples.search import Limits
from kraftcheck.traces.schema import PROGRESSED
from tla_utils import Manifest, Model, TlcResult
from tla_utils.config import cfg_text
from tla_utils.output import State
from tla_utils.values import Function, ModelValue, Record, render

COUNT_ANEW: Final = frozenset({"MCPartitionReduced", "MCPartitionLiveness"})
"""Modules that number partition epochs anew after every step, and forget those of followers: a
number that falls there is no step back, and is marked."""


class Story(NamedTuple):
    lines: list[str]
    """The whole in words; the last one says what is broken."""
    run: Run | None = None
    """What the reference made of it, up to where it follows; None: nothing."""


def tell(manifest: Manifest, model: Model, result: TlcResult, bug: str | None) -> Story:
    """The counterexample that TLC found in a model.

    Args:
        bug: the substitution with which the reference is to follow; None: the correct protocol.
    """
    states = result.counterexample
    if not states:
        return Story([])
    found = None if result.kind == "liveness" else _followed(manifest, model, states, bug)
    run, reached, lines = None, 0, list[str]()
    if found is not None:
        run, reached = _run(found), found.reached
        names = [f"{name} of TLC is {own}" for name, own in found.nodes.items()]
        lines = [", ".join(names), *narrate(run)] if names else [*narrate(run)]
        if reached < len(states):
            lines.append(f"The reference follows to state {reached} of TLC; from there on TLC has:")
    if reached < len(states):
        lines += narrated(states[max(reached - 1, 0) :], model.module in COUNT_ANEW)
    lines += ending(result)
    wrong = endings.ending(manifest, model, result.property, states)
    return Story([*lines, wrong] if wrong else lines, run)


def _followed(
    manifest: Manifest, model: Model, states: Sequence[State], bug: str | None
) -> Way | None:
    """How the reference goes through the states; None: it takes no step towards them."""
    name = endings.protocol_of(manifest, model)
    protocol = next((each for each in PROTOCOLS if each.name == name), None)
    if protocol is None:
        return None
    cfg = cfg_text(model.config)
    try:
        found = way(protocol, cfg, states, bug, watched=False, patience=(Limits(),))
    except Exception:
        # Rules of one's own may raise anything, and a model of one's own may show anything.
        return None
    return found if found.script.moves else None


def _run(found: Way) -> Run:
    run = found.run()
    if run.result.verdict != PROGRESSED:
        return run
    # Nobody has asked for progress.
    said = f"at state {found.reached} of the {found.states} that TLC shows"
    return run._replace(result=run.result._replace(verdict=said))


# -- States


def narrated(states: Sequence[State], counts_anew: bool = False) -> Iterator[str]:
    """States line by line: what happened, the messages, what changed.

    counts_anew: the model keeps of partition epochs only their order, and of a leader only.
    """
    yield f"{states[0].number}. " + ("the beginning" if states[0].number == 1 else "from here on")
    yield from (f"     {line}" for line in _beginning(states[0]))
    for before, state in pairwise(states):
        yield f"{state.number}. {heading(before, state)}"
        yield from (f"     {message(m)}" for m in fresh_messages(before, state))
        yield from (f"       {line}" for line in changes(before, state, counts_anew))


def ending(result: TlcResult) -> Iterator[str]:
    """How a counterexample to liveness goes on for ever; one to safety has no such line."""
    if result.loop_to is not None:
        yield f"and so on for ever, from {len(result.counterexample)} back to {result.loop_to}"
    elif result.stuttering:
        yield "and nothing changes any more"


_NAMELESS = ("MCNext", "Next", "LiveNext", "Quiet", "Loud")
"""Actions whose names say nothing of what happened."""
_SPENT = {
    "records": "is sent a record",
    "deaths": "dies",
    "deaf": "hears nothing any more",
    "lags": "is too slow",
}
"""By what a model has only so many of: what happens to the node that changes."""
_HISTORY = ("committed", "acked")
"""Variables that no node has."""


def heading(before: State, state: State) -> str:
    """Say what led from a state to the next, as far as the states tell.

    The action, else what was spent, else who changed or sent something.
    """
    if state.action not in _NAMELESS:
        return state.action
    had: Any = before.values.get("spent")
    has: Any = state.values.get("spent")
    changed = [name for name, _, _ in _parts(before, state) if name not in _HISTORY]
    for name, said in _SPENT.items():
        if isinstance(has, Record) and name in has and had[name] != has[name]:
            fresh = has[name] - had[name] if isinstance(has[name], frozenset) else frozenset()
            return f"{', '.join(sorted(map(name_of, fresh)) or changed)} {said}"
    senders = {name_of(m["source"]) for m in fresh_messages(before, state) if "source" in m}
    who = changed or sorted(senders)
    return f"{', '.join(who)} {'goes' if len(who) == 1 else 'go'} on" if who else "then"


def _parts(before: State, after: State) -> Iterator[tuple[str, Any, Any]]:
    """What differs of the variables that hold rows, and its name: the node, or the variable."""
    names = [name for name in after.values if name not in ("network", "spent")]
    if "rows" in after.values:
        names = [name for name in ("rows", "controller", *_HISTORY) if name in after.values]
    for name in names:
        old, new = before.values[name], after.values[name]
        inside: list[tuple[str, Any, Any]] = [(name, old, new)]
        of_nodes = name == "rows" or isinstance(new, tuple | Function)
        if of_nodes and name not in _HISTORY and _same_form(old, new):
            inside = [
                (name_of(key) if name == "rows" else f"{name}[{name_of(key)}]", was, now)
                for (key, was), (_, now) in zip(pairs(old), pairs(new), strict=True)
            ]
        yield from (each for each in inside if each[1] != each[2])


_NODES = {-1: "nobody", -2: "controller", -3: "clients", -4: "metadata"}


def name_of(node: object) -> str:
    """A node, or an address that is none, as it is called in words."""
    if isinstance(node, int):
        return _NODES.get(node, str(node))
    return node.name if isinstance(node, ModelValue) else str(node)


def _beginning(state: State) -> Iterator[str]:
    for node, row in pairs(state.values.get("rows")):
        own = _with_role(row)
        said = short(row) if own is None else f"{own['role']}, its log is {short(own['log'])}"
        yield f"{name_of(node)}: {said}"


def _with_role(row: Any) -> Any:
    """The part of a row that says which role the node has: of voters it is the quorum's row.

    None: there is no such part.
    """
    if not isinstance(row, Record):
        return None
    if "role" in row:
        return row
    inner = (_with_role(part) for _, part in pairs(row))
    return next((each for each in inner if each is not None), None)


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a function or a record; a function over 1..n is a tuple."""
    if isinstance(value, Function | Record):
        return [(key, value[key]) for key in value]  # type: ignore[index]
    return [*enumerate(value, 1)] if isinstance(value, tuple) else []


def fresh_messages(before: State, after: State) -> list[Any]:
    """What the network has now and had not before."""
    old, new = before.values.get("network"), after.values.get("network")
    if not isinstance(old, frozenset) or not isinstance(new, frozenset):
        return []
    return sorted(new - old, key=render)


_QUIET = {"type", "source", "destination", "request"}


def message(m: Any) -> str:
    """A message in a line: from whom to whom, if it says so, and all fields that say something."""
    between = f"{name_of(m['source'])} > {name_of(m['destination'])} " if "source" in m else ""
    fields = [f"{name}={short(m[name])}" for name in m if name not in _QUIET]
    said = (each for each in fields if each[-2:] not in _NOTHING)
    return " ".join([f"{between}{m['type']}", *said])


_NOTHING = {"=-", "={", "{}", "<>", "=("}


def short(value: Any) -> str:
    """Write a value in little space.

    `-` for undefined, a record of a log as value~epoch, members of an ISR as broker~broker epoch.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return "-" if value == -1 else _NODES.get(value, str(value))
    if isinstance(value, Record):
        fields = set(value)
        if {"epoch", "value"} <= fields:
            return f"{value['value']}~{value['epoch']}"
        if fields == {"broker", "epoch"}:
            return f"{short(value['broker'])}~{value['epoch']}"
        said = [f"{name}={short(value[name])}" for name in value if short(value[name]) != "-"]
        return f"({' '.join(said)})" if said else "-"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(short(each) for each in value)) + "}"
    if isinstance(value, tuple):
        return "<" + ", ".join(short(each) for each in value) + ">"
    if isinstance(value, Function):
        return "{" + ", ".join(f"{name_of(k)}: {short(v)}" for k, v in pairs(value)) + "}"
    text = name_of(value)
    return "-" if text in ("NONE", "") else text


def changes(before: State, after: State, counts_anew: bool = False) -> Iterator[str]:
    """What a step changed: by node the fields of its row, then the controller's, then history."""
    for name, old, new in _parts(before, after):
        leaves = [*_leaves("", old, new)]
        if counts_anew:
            leads = not isinstance(new, Record) or new.get("role", "Leader") == "Leader"
            leaves = [leaf for leaf in leaves if leads or not leaf.is_counted_anew]
        if leaves:
            yield f"{name}: {'; '.join(leaf.words(counts_anew) for leaf in leaves)}"


class _Leaf(NamedTuple):
    """A difference between two rows, and where it is."""

    path: str
    old: Any
    new: Any

    @property
    def is_counted_anew(self) -> bool:
        return self.path.rpartition(".")[2] == "partitionEpoch"

    def words(self, counts_anew: bool) -> str:
        text = f"{self.path} {short(self.old)} -> {short(self.new)}".lstrip()
        falls = counts_anew and self.is_counted_anew and self.new < self.old
        return f"{text} (renumbered)" if falls else text


def _leaves(path: str, old: Any, new: Any) -> Iterator[_Leaf]:
    """Every difference, as deep as both sides have the same form."""
    if old == new:
        return
    if isinstance(new, Record | Function) and _same_form(old, new):
        for (key, left), (_, right) in zip(pairs(old), pairs(new), strict=True):
            step = f"[{name_of(key)}]" if isinstance(new, Function) else f".{key}"
            yield from _leaves(f"{path}{step}" if path else step.strip(".[]"), left, right)
        return
    yield _Leaf(path, old, new)


def _same_form(old: Any, new: Any) -> bool:
    """Whether both are records, functions or sequences with the same keys."""
    return isinstance(old, type(new)) and [k for k, _ in pairs(old)] == [k for k, _ in pairs(new)]
