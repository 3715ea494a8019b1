"""What is compared of the names of the quorum."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import fields

from kraftcheck.reference.bugs.bug import BASES
from kraftcheck.reference.kit import log
from kraftcheck.reference.quorum import handlers as quorum, messages, rules, types
from kraftcheck.reference.quorum.handlers import HANDLERS, QuorumHandlers
from kraftcheck.reference.quorum.properties import INVARIANTS
from kraftcheck.reference.quorum.rules import QuorumRules
from tests.reference.vocabulary import (
    Compared,
    errors,
    functions,
    ignored,
    lifted,
    operators,
    outer_fields,
    promised_in,
    records,
    signatures,
    snake,
    spec,
    steps_in,
    values_in,
)

# --- What is compared: a pair of lists for each thing that both sides name


def rule_names(specs_dir: Path) -> tuple[list[str], list[str]]:
    return [snake(name) for name in operators(spec(specs_dir, "QuorumRules"))], list(
        BASES[QuorumRules].names
    )


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "QuorumRules", QuorumRules)


def actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = operators(spec(specs_dir, "QuorumHandlers"))
    theirs = [n.removeprefix("Step_") for n in names if n.startswith("Step_")]
    return sorted(theirs), sorted(HANDLERS.values())


def handlers_and_helpers(specs_dir: Path) -> tuple[list[str], list[str]]:
    """All else that QuorumHandlers.tla names has a method, but for what is a value in types.py."""
    elsewhere = {"Roles", "Running", "NoDivergence", "InitialRow"}
    # The two plain responses are built where they are sent.
    elsewhere |= {"Response"}
    renamed = {"successor_lists": "successor_list"}
    names = operators(spec(specs_dir, "QuorumHandlers"))
    theirs = [snake(n.removeprefix("Step_")) for n in names if n not in elsewhere]
    methods = [n for n, member in vars(QuorumHandlers).items() if inspect.isfunction(member)]
    ours = [n for n in methods if not n.startswith("_") and n not in ("step", "outcomes")]
    return [renamed.get(name, name) for name in theirs], ours


def row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "QuorumHandlers")
    (theirs,) = records(text[text.index("InitialRow(n) ==") :], "[role |->")
    return [snake(name) for name in theirs], [field.name for field in fields(types.Row)]


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


BOTH = ("QuorumRules", "QuorumHandlers")
log_functions = functions("ReplicaLog", log, ("LeaderChange", "Undefined"))
lifted_actions = lifted("KRaftElection", HANDLERS.values())
values = values_in(
    {
        types.QuorumStateFile: ("QuorumHandlers", "[epoch |-> 0, leader"),
        types.Entry: ("QuorumHandlers", "[epoch |-> row.epoch, value"),
        types.CacheEntry: ("ReplicaLog", "[epoch |-> epoch, start"),
        types.EpochEnd: ("QuorumHandlers", "[epoch |-> Undefined"),
    }
)
reasons = ignored(
    *(("QuorumHandlers",), (quorum,)),
    *(r'Ignore\(n, row, "(\w+)"\)', [r'self\.ignore\(row, "(\w+)"\)']),
)
error_codes = errors(BOTH, (rules, quorum))
invariants = promised_in("QuorumProperties", INVARIANTS, ("KnownCommitted", "Abstract"))
step_invariants = steps_in("QuorumProperties", INVARIANTS)

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
