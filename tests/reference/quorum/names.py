"""What is compared of the names of the quorum."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import fields

from reference.bugs.bug import BASES
from reference.kit import log
from reference.quorum import handlers as quorum, messages, rules, types
from reference.quorum.handlers import HANDLERS, QuorumHandlers
from reference.quorum.invariants import INVARIANT_NAMES
from reference.quorum.properties import INVARIANTS
from reference.quorum.rules import QuorumRules
from tests.reference.vocabulary import (
    COMMENT,
    Compared,
    operators,
    outer_fields,
    records,
    signatures,
    snake,
    spec,
    text_of,
)

# --- What is compared: a pair of lists for each thing that both sides name


def rule_names(specs_dir: Path) -> tuple[list[str], list[str]]:
    return [snake(name) for name in operators(spec(specs_dir, "QuorumRules"))], list(
        BASES[QuorumRules].names
    )


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "QuorumRules", QuorumRules)


def log_functions(specs_dir: Path) -> tuple[list[str], list[str]]:
    """MinOf and MaxOf are Python's own; a slice is a word of Python, so it is `slice_of`."""
    names = [name for name in operators(spec(specs_dir, "ReplicaLog"))]
    theirs = [snake(n) for n in names if n not in ("LeaderChange", "Undefined", "MinOf", "MaxOf")]
    ours = [name for name, member in vars(log).items() if inspect.isfunction(member)]
    return theirs, ["slice" if name == "slice_of" else name for name in ours]


def actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = operators(spec(specs_dir, "QuorumHandlers"))
    theirs = [n.removeprefix("Step_") for n in names if n.startswith("Step_")]
    return sorted(theirs), sorted(HANDLERS.values())


def lifted_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = operators(spec(specs_dir, "KRaftElection"))
    return sorted(n for n in names if n.startswith("Handle")), sorted(HANDLERS.values())


def handlers_and_helpers(specs_dir: Path) -> tuple[list[str], list[str]]:
    """All else that QuorumHandlers.tla names has a method, but for what is a value in types.py."""
    elsewhere = {"Roles", "Running", "NoDivergence", "InitialRow"}
    # The two plain responses are built where they are sent.
    elsewhere |= {"Response"}
    renamed = {"successor_lists": "successor_list"}
    names = operators(spec(specs_dir, "QuorumHandlers"))
    theirs = [snake(n.removeprefix("Step_")) for n in names if n not in elsewhere]
    methods = [n for n, member in vars(QuorumHandlers).items() if inspect.isfunction(member)]
    ours = [n for n in methods if not n.startswith("_") and n != "step"]
    return [renamed.get(name, name) for name in theirs], ours


def row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "QuorumHandlers")
    (theirs,) = records(text[text.index("InitialRow(n) ==") :], "[role |->")
    return [snake(name) for name in theirs], [field.name for field in fields(types.Row)]


def values(specs_dir: Path) -> tuple[list[str], list[str]]:
    """The records inside a row and a message: the file, an entry, a cache entry, an epoch's end."""
    handlers, replica_log = spec(specs_dir, "QuorumHandlers"), spec(specs_dir, "ReplicaLog")
    row = handlers[handlers.index("InitialRow(n) ==") :]
    theirs = {
        "QuorumStateFile": records(row, "[epoch |-> 0, leader")[0],
        "Entry": records(handlers, "[epoch |-> row.epoch, value")[0],
        "CacheEntry": records(replica_log, "[epoch |-> epoch, start")[0],
        "EpochEnd": records(handlers, "[epoch |-> Undefined")[0],
    }
    of: list[type[Struct]] = [
        *(types.QuorumStateFile, types.Entry),
        *(types.CacheEntry, types.EpochEnd),
    ]
    return (
        [f"{name}.{snake(member)}" for name, members in theirs.items() for member in members],
        [f"{each.__name__}.{field.name}" for each in of for field in fields(each)],
    )


def messages_and_inputs(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every type with its fields, as `Type.field` (or `Type.` where it has none)."""
    handlers, election = spec(specs_dir, "QuorumHandlers"), spec(specs_dir, "KRaftElection")
    theirs = set()
    for text in (handlers, election):
        for at in re.finditer(r'\[type \|-> "(\w+)"', text):
            if at[1] != "None":
                theirs |= dotted(at[1], map(snake, outer_fields(text[at.start() :])))
    # The shape that the two plain responses share, and who passes which type to it.
    (plain,) = records(handlers, "[type |-> type,")
    for name in re.findall(r'HandleLeaderRequest\(.*"(\w+)"\)', handlers):
        theirs |= dotted(name, map(snake, plain))
    ours: set[str] = set()
    for of in messages.INPUTS:
        ours |= dotted(of.__name__, ["type", *(field.name for field in fields(of))])
    return sorted(theirs), sorted(ours)


def dotted(name: str, members: Iterable[str]) -> set[str]:
    """The fields besides the tag; a type without fields is named by itself."""
    return {f"{name}.{member}" for member in members if member != "type"} or {f"{name}."}


def field_order(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Requests and responses have their fields in the spec's order."""
    text = spec(specs_dir, "QuorumHandlers")
    theirs, ours = [], []
    for of in messages.MESSAGES:
        found = records(text, f'[type |-> "{of.__name__}"') or records(text, "[type |-> type,")
        theirs.append(f"{of.__name__}: {', '.join(map(snake, found[0]))}")
        ours.append(f"{of.__name__}: {', '.join(['type', *(f.name for f in fields(of))])}")
    return theirs, ours


def roles(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "QuorumHandlers")
    braces = text[text.index("Roles ==") :]
    return re.findall(r'"(\w+)"', braces[: braces.index("}")]), list(types.ROLES)


def reasons(specs_dir: Path) -> tuple[list[str], list[str]]:
    """The reasons for which an input is ignored."""
    theirs = re.findall(r'Ignore\(n, row, "(\w+)"\)', spec(specs_dir, "QuorumHandlers"))
    ours = re.findall(r'self\.ignore\(row, "(\w+)"\)', inspect.getsource(quorum))
    return theirs, ours


def error_codes(specs_dir: Path) -> tuple[list[str], list[str]]:
    pattern = r'"((?:NONE|[A-Z]+_[A-Z_]+))"'
    text = spec(specs_dir, "QuorumRules") + spec(specs_dir, "QuorumHandlers")
    source = inspect.getsource(rules) + inspect.getsource(quorum)
    return sorted({*re.findall(pattern, text)}), sorted({*re.findall(pattern, source)})


def invariants(specs_dir: Path) -> tuple[list[str], list[str]]:
    """What QuorumProperties.tla defines from its types on, but for the steps' own predicates and
    the two definitions that the refinement needs.
    """
    text = text_of(specs_dir, "QuorumProperties")
    promised = COMMENT.sub("", text[text.index("(* Types.") :])
    names = [n for n in operators(promised) if not n.endswith("Step")]
    return [n for n in names if n not in ("KnownCommitted", "Abstract")], list(INVARIANT_NAMES)


def step_invariants(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Those that speak of two states: an action under a box, or a refinement."""
    text = spec(specs_dir, "QuorumProperties")
    theirs = re.findall(r"^(\w+) == (?:\[\]\[|Abstract!)", text, re.MULTILINE)
    return theirs, [each.name for each in INVARIANTS if each.kind == "step"]


COMPARED = Compared(
    "quorum",
    (
        *(rule_names, rule_signatures, log_functions, actions, lifted_actions),
        *(handlers_and_helpers, row_fields, values, messages_and_inputs, field_order),
        *(roles, reasons, error_codes, invariants, step_invariants),
    ),
    (
        (rule_names, "QuorumRules", "MayForget(row, m) == TRUE", "may_forget"),
        (
            rule_signatures,
            "QuorumRules",
            "MayForget(row, lastEpoch) ==\n  1",
            "may_forget(row, last_epoch)",
        ),
        (log_functions, "ReplicaLog", "Longest(log) == log", "longest"),
        (actions, "QuorumHandlers", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
        (lifted_actions, "KRaftElection", "HandleNap(n) == FALSE", "HandleNap"),
        (handlers_and_helpers, "QuorumHandlers", "BecomeTired(row, use(_)) == row", "become_tired"),
        (
            messages_and_inputs,
            "KRaftElection",
            'Nap(n) == [type |-> "Nap", until |-> 1]',
            "Nap.until",
        ),
        (reasons, "QuorumHandlers", 'Nap == Ignore(n, row, "Tired")', "Tired"),
        (error_codes, "QuorumRules", 'Nap == "TOO_TIRED"', "TOO_TIRED"),
        (invariants, "QuorumProperties", "NeverTired == TRUE", "NeverTired"),
        (
            step_invariants,
            "QuorumProperties",
            "NeverTired == [][NeverTiredStep]_vars",
            "NeverTired",
        ),
    ),
)
