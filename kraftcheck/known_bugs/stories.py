"""TLC's counterexample to a bug, told as a sequence of messages.

The reduced models fuse a request, its handling and its answer into one action, so TLC's states show
no messages. `stories` takes the same steps again and says in which way each could be taken;
here that is put into words, with what it changed. Models without a teller of their own are told by
what changes from state to state: the asynchronous ones have every message in their network.

Law of this file: nothing is guessed. A step that no way explains is told as "?" with its changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kraftcheck.traces.counterexamples import endings
from tla_utils import Manifest, Model, ModuleText, RunOptions, TlcJob, TlcResult, run_tlc
from tla_utils.config import cfg_text, read_config
from tla_utils.errors import ToolError
from tla_utils.manifest import outline
from tla_utils.models import overlays_of, root_of
from tla_utils.output import State
from tla_utils.values import Function, ModelValue, Record, render

TELLERS = {
    "MCQuorumReduced": ("TellQuorum", ("rows", "network", "spent")),
    "MCPartitionReduced": (
        "TellPartition",
        ("rows", "controller", "metadata", "network", "spent"),
    ),
}
"""By module: who tells its counterexamples, and the variables that make a state of a story."""

COUNT_ANEW = frozenset({"MCPartitionReduced", "MCPartitionLiveness"})
"""Modules that number partition epochs anew after every step, and forget those of followers: a
number that falls there is no step back, and is told as what it is."""

_SECTION = re.compile(
    r"^(SPECIFICATION|INIT|NEXT|CONSTANTS?|SYMMETRY|VIEW|(?:ACTION_)?CONSTRAINTS?|INVARIANTS?"
    r"|PROPERTY|PROPERTIES)\b",
    re.MULTILINE,
)

Way = Mapping[str, Any]


def sections(cfg: str) -> Iterator[tuple[str, str]]:
    """(keyword, text) of each section of a cfg, in order; what stands before them is left out."""
    starts = [*_SECTION.finditer(cfg)]
    ends = [match.start() for match in starts[1:]] + [len(cfg)] * bool(starts)
    for match, end in zip(starts, ends, strict=True):
        yield match[1], cfg[match.start() : end]


def constants_text(cfg: str) -> str:
    """The CONSTANTS sections of a cfg, as they are."""
    return "".join(text for keyword, text in sections(cfg) if keyword in CONSTANTS)


def without_specification(cfg: str) -> str:
    """A cfg without what says where behaviours begin and how they go on."""
    begin = ("SPECIFICATION", "INIT", "NEXT")
    return "".join(text for keyword, text in sections(cfg) if keyword not in begin)


CONSTANTS = ("CONSTANT", "CONSTANTS")


def root_module(name: str, extended: Sequence[str], body: str) -> ModuleText:
    return ModuleText(
        name, f"---- MODULE {name} ----\nEXTENDS {', '.join(extended)}\n{body}\n====\n"
    )


def overridden_names(cfg: str, states: Sequence[State]) -> tuple[str, str]:
    """What a module needs to speak of model values that only a cfg has named so far.

    Returns (a CONSTANTS declaration for the module, the lines for the cfg).
    """
    assigned = set(read_config(cfg).assigned)
    names: set[str] = set()
    for state in states:
        for value in state.values.values():
            _collect(value, names)
    fresh = sorted(names - assigned)
    if not fresh:
        return "", ""
    return f"CONSTANTS {', '.join(fresh)}", "CONSTANTS\n" + "".join(
        f"  {name} = {name}\n" for name in fresh
    )


def _collect(value: object, names: set[str]) -> None:
    if isinstance(value, ModelValue):
        names.add(value.name)
    elif isinstance(value, Record):
        for name in value:
            _collect(value[name], names)
    elif isinstance(value, Function):
        for key in value:
            _collect(key, names)
            _collect(value[key], names)
    elif isinstance(value, tuple | frozenset):
        for each in value:
            _collect(each, names)


def ways(
    manifest: Manifest,
    model: Model,
    states: Sequence[State],
    options: RunOptions,
    beside: Sequence[Path] = (),
) -> list[Way] | None:
    """How each step of a counterexample was taken, the first state's "begins" included.

    beside: further folders with modules. None when the model's module has no teller. Raises
    ToolError when TLC cannot tell it.
    """
    teller = TELLERS.get(model.module)
    if teller is None:
        return None
    name, variables = teller
    cfg = cfg_text(model.config)
    declared, given = overridden_names(cfg, states)
    story = ",\n".join(
        "[" + ", ".join(f"{v} |-> {render(state.values[v])}" for v in variables) + "]"
        for state in states
    )
    body = f"{declared}\nStoryTold == <<\n{story}\n>>"
    job = TlcJob(
        module=root_module("Told", [name, *model.overlays], body),
        cfg=f"INIT TellInit\nNEXT TellNext\n{constants_text(cfg)}{given}"
        "CONSTANT Story <- StoryTold\nINVARIANT NotOver\n",
        libraries=[*manifest.libraries, *beside],
        beside=overlays_of(manifest, model),
        heap_mb=model.heap_mb,
        timeout_s=600,
        deadlock=False,
        java=options.java,
        jar=options.jar,
    )
    result = run_tlc(job)
    if result.verdict != "violated" or len(result.counterexample) != len(states):
        raise ToolError(f"the counterexample of {model.name} cannot be told: {result.reason}")
    found: list[Way] = []
    for state in result.counterexample:
        way: Any = state.values["told"]
        found.append({key: way[key] for key in way})
    return found


def find(
    manifest: Manifest, model: Model, options: RunOptions, timeout_s: float | None = None
) -> TlcResult:
    """A shortest counterexample of a bug's model, searched from the beginning.

    timeout_s: None is what the manifest says. Raises ToolError: there is none, or no time.
    """
    outline(manifest, model)
    job = TlcJob(
        module=root_of(manifest, model),
        cfg=cfg_text(model.config),
        libraries=manifest.libraries,
        beside=overlays_of(manifest, model),
        heap_mb=model.heap_mb,
        timeout_s=timeout_s or model.timeout_s,
        deadlock=model.deadlock,
        long=True,
        java=options.java,
        jar=options.jar,
        told=options.told,
    )
    result = run_tlc(job)
    if result.verdict != "violated":
        raise ToolError(f"model {model.name} shows no counterexample: {result.reason}")
    return result


# -- In words


def told(
    manifest: Manifest, model: Model, result: TlcResult, ways: Sequence[Way] | None
) -> list[str]:
    """A counterexample, line by line, with what is wrong at its end."""
    states = result.counterexample
    lines = [*narrated(states, ways, model.module in COUNT_ANEW), *ending(result)]
    wrong = endings.ending(manifest, model, result.property, states)
    return [*lines, wrong] if wrong else lines


def narrated(
    states: Sequence[State], told: Sequence[Way] | None, counts_anew: bool = False
) -> Iterator[str]:
    """A counterexample, line by line: what happened, the messages, what they changed. counts_anew:
    its model keeps of partition epochs only their order, and of a leader only.
    """
    for number, state in enumerate(states):
        if number == 0:
            yield "1. the beginning"
            yield from (f"     {line}" for line in _beginning(state))
            continue
        before = states[number - 1]
        yield f"{number + 1}. {heading(before, state, told[number] if told else None)}"
        messages = told[number]["messages"] if told else fresh_messages(before, state)
        yield from (f"     {message(m)}" for m in messages)
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


def _stands(row: Any) -> str:
    """Its role in a word; of a broker that does not run, or begins or ends to, that."""
    row = _with_role(row)
    if row is None:
        return ""
    status = name_of(row["status"]) if "status" in row else "Running"
    role = name_of(row["role"])
    return status if status != "Running" else "without a role" if role == "None" else role


def heading(before: State, state: State, way: Way | None) -> str:
    """What led from a state to the next, in words."""
    if way is not None:
        return "?" if way["what"] == "?" else f"{name_of(way['node'])} {way['what']}"
    if state.action not in _NAMELESS:
        return state.action
    return _happened(before, state) or _touched(before, state) or "then"


def _happened(before: State, after: State) -> str:
    """In words, as far as the states say it: what was spent, whose role or row changed, who sent
    something; nothing, when they do not say it.
    """
    old, new = before.values.get("rows"), after.values.get("rows")
    both = [*zip(pairs(old), pairs(new), strict=True)]
    changed = [name_of(node) for (node, was), (_, now) in both if was != now]
    changed += ["controller"] * (before.values.get("controller") != after.values.get("controller"))
    had: Any = before.values.get("spent")
    has: Any = after.values.get("spent")
    for name, said in _SPENT.items():
        if isinstance(has, Record) and name in has and had[name] != has[name]:
            fresh = has[name] - had[name] if isinstance(has[name], frozenset) else frozenset()
            return f"{', '.join(sorted(map(name_of, fresh)) or changed)} {said}"
    stands = [(node, _stands(was), _stands(now)) for (node, was), (_, now) in both]
    roles = [f"{name_of(node)} is {now}" for node, was, now in stands if was != now]
    senders = {name_of(m["source"]) for m in fresh_messages(before, after) if "source" in m}
    who = changed or sorted(senders)
    if not roles and who:
        return f"{', '.join(who)} {'goes' if len(who) == 1 else 'go'} on"
    return ", ".join(roles)


def _others(state: State) -> list[str]:
    """The variables of a model that has no rows of nodes: all but messages and what is spent."""
    return [] if "rows" in state.values else [n for n in state.values if n not in _TOLD_APART]


_TOLD_APART = ("controller", "network", "spent", "committed", "acked")


def _parts(before: State, after: State) -> Iterator[tuple[str, Any, Any]]:
    """What differs of these, and its name: a variable, or the row of somebody in it."""
    for name in _others(after):
        old, new = before.values[name], after.values[name]
        inside: list[tuple[str, Any, Any]] = [(name, old, new)]
        if isinstance(new, tuple | Function) and _same_form(old, new):
            inside = [
                (f"{name}[{name_of(key)}]", was, now)
                for (key, was), (_, now) in zip(pairs(old), pairs(new), strict=True)
            ]
        yield from (each for each in inside if each[1] != each[2])


def _touched(before: State, after: State) -> str:
    """Whose turn it was, by name, where a model has no rows of nodes: `clients[1] goes on`."""
    found = [name for name, _, _ in _parts(before, after)]
    return f"{', '.join(found)} {'goes' if len(found) == 1 else 'go'} on" if found else ""


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
    """The part of a row that says which role the node has: of voters it is the quorum's row. None:
    there is no such part.
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
    """A value on little room: - for undefined, a record of a log as value~epoch, members of an
    ISR as broker~broker epoch.
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
    new_rows = pairs(after.values.get("rows"))
    for (_, old), (node, new) in zip(pairs(before.values.get("rows")), new_rows, strict=True):
        yield from _row_changes(name_of(node), old, new, counts_anew)
    if "controller" in after.values:
        old, new = before.values["controller"], after.values["controller"]
        yield from _row_changes("controller", old, new, counts_anew)
    for name in ("committed", "acked"):
        if name in after.values and before.values[name] != after.values[name]:
            yield f"{name}: {short(before.values[name])} -> {short(after.values[name])}"
    for name, old, new in _parts(before, after):
        yield from _row_changes(name, old, new, counts_anew)


def _row_changes(node: str, old: Any, new: Any, counts_anew: bool) -> Iterator[str]:
    leaves = [*_leaves("", old, new)]
    if counts_anew:
        leads = "role" not in new or new["role"] == "Leader"
        leaves = [leaf for leaf in leaves if leads or not leaf.is_counted_anew]
    said = [leaf.told(counts_anew) for leaf in leaves]
    if said:
        yield f"{node}: {'; '.join(said)}"


class _Leaf(NamedTuple):
    """A difference between two rows, and where it is."""

    path: str
    old: Any
    new: Any

    @property
    def is_counted_anew(self) -> bool:
        return self.path.rpartition(".")[2] == "partitionEpoch"

    def told(self, counts_anew: bool) -> str:
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
