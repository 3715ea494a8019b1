"""What is compared of the names of a partition."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from msgspec import Struct
from msgspec.structs import fields

from reference.kit.dispatch import handler_name
from reference.kit.messages import Tagged
from reference.partition import (
    broker,
    controller,
    isr,
    log as partition_log,
    messages as partition_messages,
    replication,
    row as partition_row,
    rules as partition_rules,
    types as partition_types,
)
from reference.partition.broker import BROKER_HANDLERS
from reference.partition.controller import CONTROLLER_HANDLERS, PartitionControllerHandlers
from reference.partition.invariants import PARTITION_INVARIANT_NAMES
from reference.partition.properties import PARTITION_INVARIANTS
from reference.partition.protocol import BROKER
from reference.partition.rules import PartitionRules
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

BROKER_MODULES = ("IsrMembership", "HighWatermark", "BrokerLifecycle")
MODULES = ("PartitionRow", *BROKER_MODULES, "PartitionController")
# Who is addressed, and what no bug may replace: in reference/partition/types.py.
CONSTANTS = ("Brokers", "Nobody", "Controller", "Clients", "MetadataLog", "EffectiveMinIsr")


RULES = tuple(
    name
    for name, member in vars(PartitionRules).items()
    if callable(member) and not name.startswith("_")
)


def rules_of_spec(specs_dir: Path) -> dict[str, list[str]]:
    found = operators(spec(specs_dir, "PartitionRules"))
    return {name: parameters for name, parameters in found.items() if name not in CONSTANTS}


def rule_names(specs_dir: Path) -> tuple[list[str], list[str]]:
    return [snake(name) for name in rules_of_spec(specs_dir)], list(RULES)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "PartitionRules", PartitionRules, CONSTANTS)


def log_functions(specs_dir: Path) -> tuple[list[str], list[str]]:
    values = ("Gone", "Corrupt", "NoPending", "NoRequest", "NoDivergence")
    names = [n for n in operators(spec(specs_dir, "PartitionLog")) if n not in values]
    ours = [
        name
        for name, member in vars(partition_log).items()
        if inspect.isfunction(member) and member.__module__ == partition_log.__name__
    ]
    return [snake(name) for name in names], ours


def steps(specs_dir: Path, *modules: str) -> list[str]:
    return [
        name.removeprefix("Step_")
        for module in modules
        for name in operators(spec(specs_dir, module))
        if name.startswith("Step_")
    ]


def broker_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    return sorted(steps(specs_dir, *BROKER_MODULES)), sorted(BROKER_HANDLERS.values())


def controller_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = steps(specs_dir, "PartitionController")
    return sorted(theirs), sorted(CONTROLLER_HANDLERS.values())


def lifted_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = operators(spec(specs_dir, "PartitionReplication"))
    ours = [*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values()]
    return sorted(n for n in names if n.startswith("Handle")), sorted(ours)


def cases(specs_dir: Path) -> tuple[list[str], list[str]]:
    """The cases of handlers by which recorded steps are judged."""
    theirs = steps(specs_dir, "BrokerCases")
    return theirs, [label for label in BROKER.labels if label not in BROKER.actions]


def helpers(specs_dir: Path) -> tuple[list[str], list[str]]:
    """All else that the modules of handlers name has a method, but for values and types."""
    elsewhere = {
        *("UnknownRemote", "NoRemotes", "InitialOffset", "InitialPartition", "InitialImage"),
        *("InitialRow", "IsUp", "IsLeader", "InitialController", "Unchanged"),
        *("Outcome", "Disabled"),
        # Cases of handlers, by which recorded steps are judged (traces/jobs/relevance.py).
        *("TouchesPartition", "Apply", "ApplyAlone", "MayMove", "NoteHeartbeat"),
        *("MayChangeLog", "NoteFetched"),
    }
    names = [n for module in MODULES for n in operators(spec(specs_dir, module))]
    theirs = {snake(n.removeprefix("Step_")) for n in names if n not in elsewhere}
    # What a step ends in where a fetch was noted before; the spec writes it out.
    ours = {"answer_reached"} ^ {
        name
        for of in (*broker.BrokerHandlers.__mro__, PartitionControllerHandlers)
        for name, member in vars(of).items()
        if inspect.isfunction(member) and not name.startswith("_") and name != "step"
    }
    return sorted(theirs), sorted(ours)


def row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "PartitionRow")
    (theirs,) = records(text[text.index("InitialRow(n) ==") :], "[status |->")
    return [snake(n) for n in theirs], [f.name for f in fields(partition_types.BrokerRow)]


def controller_row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "PartitionController")
    (theirs,) = records(text, "[registrations |->")
    ours = [field.name for field in fields(partition_types.ControllerRow)]
    return [snake(name) for name in theirs], ours


def values(specs_dir: Path) -> tuple[list[str], list[str]]:
    """The records inside a row and a message."""
    row, log = spec(specs_dir, "PartitionRow"), spec(specs_dir, "PartitionLog")
    control = spec(specs_dir, "PartitionController")
    theirs = {
        "Record": records(log, "[epoch |-> -1, value")[0],
        "Batch": records(log, "[first |->")[0],
        "ProducerState": records(log, "[producer |-> producer")[0],
        "Partition": records(row, "[leader |-> Nobody")[0],
        "Image": records(row, "[offset |-> InitialOffset")[0],
        "BrokerState": records(row, "[epoch |-> 0")[0],
        "Remote": records(row, "[endOffset |->")[0],
        "Pending": records(log, '[kind |-> "None"')[0],
        "Parked": records(spec(specs_dir, "HighWatermark"), "[request |-> m, offset")[0],
        "Registration": records(control, "[epoch |-> 0")[0],
        "Contact": records(control, "[live |-> TRUE")[0],
    }
    of: list[type[Struct]] = [getattr(partition_types, name) for name in theirs]
    return (
        [f"{name}.{snake(member)}" for name, members in theirs.items() for member in members],
        [f"{each.__name__}.{field.name}" for each in of for field in fields(each)],
    )


def messages_and_inputs(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every type with its fields, in order; what clients ask is written down in models only."""
    clients = {each.__name__ for each in partition_messages.CLIENT_REQUESTS}
    theirs: dict[str, list[str]] = {}
    for module in (*MODULES, "PartitionReplication"):
        text = spec(specs_dir, module)
        for at in re.finditer(r'\[type \|-> "(\w+)"', text):
            if at[1] not in clients:
                theirs[at[1]] = [snake(n) for n in outer_fields(text[at.start() :])[1:]]
    ours = {
        str(member.__struct_config__.tag): [field.name for field in fields(member)]
        for member in vars(partition_messages).values()
        if inspect.isclass(member)
        and issubclass(member, Tagged)
        and member.__module__ == partition_messages.__name__
        and member is not partition_messages.NoRequest
    }
    listed = [
        [f"{name}({', '.join(of[name])})" for name in sorted(of) if name not in clients]
        for of in (theirs, ours)
    ]
    return listed[0], listed[1]


def reasons(specs_dir: Path) -> tuple[list[str], list[str]]:
    """The reasons for which an input is ignored, but for a produce error that nobody hears."""
    text = "".join(spec(specs_dir, module) for module in MODULES)
    theirs = {*re.findall(r'Ignore\(row, "(\w+)"\)', text)}
    source = "".join(map(inspect.getsource, (broker, isr, replication, controller)))
    ours = {*re.findall(r'self\.ignore\(row, "(\w+)"\)', source)}
    ours |= {*re.findall(r'ControllerOutcome\(row, \(\), "(\w+)"\)', source)}
    return sorted(theirs), sorted(ours)


def error_codes(specs_dir: Path) -> tuple[list[str], list[str]]:
    pattern = r'"((?:NONE|[A-Z]+_[A-Z_]+))"'
    modules = ("PartitionLog", "PartitionRules", *MODULES)
    text = "".join(spec(specs_dir, module) for module in modules)
    ours = (partition_log, partition_rules, partition_row, broker, isr, replication, controller)
    source = "".join(map(inspect.getsource, ours))
    return sorted({*re.findall(pattern, text)}), sorted({*re.findall(pattern, source)})


def invariants(specs_dir: Path) -> tuple[list[str], list[str]]:
    """What PartitionProperties.tla defines from its types on, but for the steps' own predicates and
    the definitions that properties need.
    """
    text = text_of(specs_dir, "PartitionProperties")
    promised = COMMENT.sub("", text[text.index("(* Types.") :])
    helping = ("Offsets", "ConsumerFetch", "ListLatest", "CacheFrom", "KnownCommitted", "Abstract")
    names = [n for n in operators(promised) if not n.endswith("Step")]
    return [n for n in names if n not in helping], list(PARTITION_INVARIANT_NAMES)


def step_invariants(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "PartitionProperties")
    theirs = re.findall(r"^(\w+) == (?:\[\]\[|Abstract!)", text, re.MULTILINE)
    return theirs, [each.name for each in PARTITION_INVARIANTS if each.kind == "step"]


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Each handler is a method of its name."""
    of = (broker.BrokerHandlers, PartitionControllerHandlers)
    needed = [handler_name(a) for a in (*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values())]
    return sorted(needed), sorted(n for each in of for n in dir(each) if n.startswith("handle_"))


COMPARED = Compared(
    "partition",
    (
        *(rule_names, rule_signatures, log_functions, broker_actions, controller_actions),
        *(lifted_actions, cases, helpers, row_fields, controller_row_fields, values),
        *(messages_and_inputs, reasons, error_codes, invariants, step_invariants),
        methods,
    ),
    (
        (rule_names, "PartitionRules", "MayForget(row, m) == TRUE", "may_forget"),
        (rule_signatures, "PartitionRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (log_functions, "PartitionLog", "Longest(log) == log", "longest"),
        (broker_actions, "BrokerLifecycle", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
        (controller_actions, "PartitionController", "Step_HandleNap(c, row, m) == {}", "HandleNap"),
        (lifted_actions, "PartitionReplication", "HandleNap(n) == FALSE", "HandleNap"),
        (cases, "BrokerCases", "Step_HandleNap_Deep(n, row, m) == {}", "HandleNap_Deep"),
        (helpers, "HighWatermark", "BecomeTired(row) == row", "become_tired"),
        (
            messages_and_inputs,
            "PartitionReplication",
            'N == [type |-> "Nap", end |-> 1]',
            "Nap(end)",
        ),
        (reasons, "IsrMembership", 'Nap == Ignore(row, "Tired")', "Tired"),
        (error_codes, "PartitionRules", 'Nap == "TOO_TIRED"', "TOO_TIRED"),
        (invariants, "PartitionProperties", "NeverTired == TRUE", "NeverTired"),
        (step_invariants, "PartitionProperties", "Never == [][NeverStep]_vars", "Never"),
    ),
)
