"""One vocabulary: the names in specs/ and the names in reference/quorum are the same.

The specs are read as text and never run. Each comparison is shown to report one name too many on
either side.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields

from reference.kit import log
from reference.kit.dispatch import handler_name
from reference.quorum import handlers as quorum
from reference.quorum import messages, rules, types
from reference.quorum.handlers import HANDLERS, QuorumHandlers
from reference.quorum.invariants import INVARIANT_NAMES
from reference.quorum.properties import INVARIANTS
from reference.quorum.rules import RULES, QuorumRules

OPERATOR = re.compile(r"^(?:LOCAL )?(\w+)(?:\(((?:[^()]|\([^()]*\))*)\))?\s*==", re.MULTILINE)
COMMENT = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)


def text_of(specs_dir: Path, module: str) -> str:
    """A module's text, wherever it lies."""
    (path,) = specs_dir.rglob(f"{module}.tla")
    return path.read_text("utf-8")


def spec(specs_dir: Path, module: str) -> str:
    return COMMENT.sub("", text_of(specs_dir, module))


def operators(text: str) -> dict[str, list[str]]:
    """The operators that a module defines, with the names of their parameters, in order."""
    return {
        name: [re.sub(r"\(.*\)", "", p).strip() for p in parameters.split(",") if p.strip()]
        for name, parameters in OPERATOR.findall(text)
    }


def records(text: str, start: str) -> list[list[str]]:
    """The field names, in order, of every record in the text that begins with `start`."""
    return [outer_fields(text[at.start() :]) for at in re.finditer(re.escape(start), text)]


def outer_fields(text: str) -> list[str]:
    """The fields of the record at the start of the text, without those of records inside it."""
    depth, found = 0, []
    for part in re.finditer(r"[\[\]({})]|<<|>>|(\w+)\s*\|->", text):
        if part[1]:
            found += [part[1]] if depth == 1 else []
        else:
            depth += 1 if part[0] in ("[", "(", "{", "<<") else -1
            if not depth:
                break
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def differences(spec_side: Iterable[str], our_side: Iterable[str]) -> list[str]:
    """What only one of the two says, and what they say in another order."""
    theirs, ours = list(spec_side), list(our_side)
    found = [f"only in specs: {name}" for name in theirs if name not in ours]
    found += [f"only in reference: {name}" for name in ours if name not in theirs]
    return found or ([] if theirs == ours else [f"in another order: {ours}"])


# --- What is compared: a pair of lists for each thing that both sides name


def rule_names(specs_dir: Path) -> tuple[list[str], list[str]]:
    return [snake(name) for name in operators(spec(specs_dir, "QuorumRules"))], list(RULES)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = [
        f"{snake(name)}({', '.join(map(snake, parameters))})"
        for name, parameters in operators(spec(specs_dir, "QuorumRules")).items()
    ]
    ours = []
    for name in RULES:
        parameters = list(inspect.signature(getattr(QuorumRules, name)).parameters)
        ours.append(f"{name}({', '.join(parameters[1:])})")
    return theirs, ours


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


Names = Callable[[Path], tuple[list[str], list[str]]]
COMPARED: list[Names] = [
    *(rule_names, rule_signatures, log_functions, actions, lifted_actions),
    *(handlers_and_helpers, row_fields, values, messages_and_inputs, field_order),
    *(roles, reasons, error_codes, invariants, step_invariants),
]


@pytest.mark.parametrize("names", COMPARED, ids=lambda names: names.__name__)
def test_both_sides_have_the_same_names(names: Names, specs_dir: Path) -> None:
    theirs, ours = names(specs_dir)
    assert theirs, "nothing was found in the specs"
    assert differences(theirs, ours) == []


@pytest.mark.parametrize("names", COMPARED, ids=lambda names: names.__name__)
def test_a_name_on_one_side_only_is_reported(names: Names, specs_dir: Path) -> None:
    theirs, ours = names(specs_dir)
    assert differences([*theirs, "planted"], ours) == ["only in specs: planted"]
    assert differences(theirs, [*ours, "planted"]) == ["only in reference: planted"]
    assert differences(theirs[1:], ours) == [f"only in reference: {theirs[0]}"]


PLANTED_TEXT = [
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
    (messages_and_inputs, "KRaftElection", 'Nap(n) == [type |-> "Nap", until |-> 1]', "Nap.until"),
    (reasons, "QuorumHandlers", 'Nap == Ignore(n, row, "Tired")', "Tired"),
    (error_codes, "QuorumRules", 'Nap == "TOO_TIRED"', "TOO_TIRED"),
    (invariants, "QuorumProperties", "NeverTired == TRUE", "NeverTired"),
    (step_invariants, "QuorumProperties", "NeverTired == [][NeverTiredStep]_vars", "NeverTired"),
]


@pytest.mark.parametrize(("names", "module", "text", "reported"), PLANTED_TEXT)
def test_an_operator_that_is_planted_in_a_spec_is_found(
    names: Names, module: str, text: str, reported: str, specs_dir: Path, tmp_path: Path
) -> None:
    """The parsing is part of what is tested: a definition it overlooked would never differ."""
    for file in specs_dir.rglob("*.tla"):
        planted = file.read_text("utf-8")
        if file.stem == module:
            planted = planted.replace("\n====", f"\n\n{text}\n====")
        (tmp_path / file.name).write_text(planted, "utf-8")
    theirs, ours = names(tmp_path)
    assert differences(theirs, ours) == [f"only in specs: {reported}"]


def test_a_field_that_is_planted_in_a_row_is_found(specs_dir: Path, tmp_path: Path) -> None:
    text = text_of(specs_dir, "QuorumHandlers")
    for old, new, names, reported in [
        ('[role |-> "Unattached",', '[role |-> "Unattached", mood |-> 1,', row_fields, "mood"),
        ("|-> m.source, error", "|-> m.source, mood |-> 1, error", field_order, None),
    ]:
        planted = text.replace(old, new)
        assert planted != text
        (tmp_path / "QuorumHandlers.tla").write_text(planted, "utf-8")
        theirs, ours = names(tmp_path)
        found = differences(theirs, ours)
        assert found == [f"only in specs: {reported}"] if reported else found


def test_every_handler_is_a_method_of_its_name() -> None:
    for action in HANDLERS.values():
        method: Any = getattr(QuorumHandlers, handler_name(action))
        assert handler_name(action) == snake(action)
        assert list(inspect.signature(method).parameters)[1:3] == ["n", "row"]
