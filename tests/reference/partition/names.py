"""What is compared of the names of a partition."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from msgspec.structs import fields

from kraftcheck.reference.kit.dispatch import handler_name
from kraftcheck.reference.kit.messages import Tagged
from kraftcheck.reference.partition import (
    broker,
    controller,
    isr,
    log as partition_log,
    messages as partition_messages,
    replication,
    row as partition_row,
    rules as partition_rules,
    types,
)
from kraftcheck.reference.partition.broker import BROKER_HANDLERS
from kraftcheck.reference.partition.controller import (
    CONTROLLER_HANDLERS,
    PartitionControllerHandlers,
)
from kraftcheck.reference.partition.properties import PARTITION_INVARIANTS
from kraftcheck.reference.partition.protocol import BROKER
from kraftcheck.reference.partition.rules import PartitionRules
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
    steps_of,
    values_in,
)

BROKER_MODULES = ("IsrMembership", "HighWatermark", "BrokerLifecycle")
MODULES = ("PartitionRow", *BROKER_MODULES, "PartitionController")
# Who is addressed, and what no bug may replace: in reference/partition/types.py.
CONSTANTS = ("Brokers", "Nobody", "Controller", "Clients", "MetadataLog", "EffectiveMinIsr")


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "PartitionRules", PartitionRules, CONSTANTS)


def broker_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    return sorted(steps_of(specs_dir, BROKER_MODULES)), sorted(BROKER_HANDLERS.values())


def controller_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = steps_of(specs_dir, ("PartitionController",))
    return sorted(theirs), sorted(CONTROLLER_HANDLERS.values())


def cases(specs_dir: Path) -> tuple[list[str], list[str]]:
    """The cases of handlers by which recorded steps are judged."""
    theirs = steps_of(specs_dir, ("BrokerCases",))
    return theirs, [label for label in BROKER.labels if label not in BROKER.actions]


def helpers(specs_dir: Path) -> tuple[list[str], list[str]]:
    """All else that the modules of handlers name has a method, but for values and types."""
    elsewhere = {
        *("UnknownRemote", "NoRemotes", "InitialOffset", "InitialPartition", "InitialImage"),
        *("InitialRow", "IsUp", "IsLeader", "InitialController", "Unchanged"),
        *("Outcome", "Disabled"),
        # Cases of handlers, by which recorded steps are judged (traces/steps/slicing.py).
        *("TouchesPartition", "Apply", "ApplyAlone", "MayMove", "NoteHeartbeat"),
        *("MayChangeLog", "NoteFetched"),
        # What is asked under another name by what stands in a step's place
        # (specs/partition/directories).
        *("AnswerRegistration", "AnswerHeartbeat", "OnDisk"),
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
    return [snake(n) for n in theirs], [f.name for f in fields(types.BrokerRow)]


def controller_row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "PartitionController")
    (theirs,) = records(text, "[registrations |->")
    ours = [field.name for field in fields(types.ControllerRow)]
    return [snake(name) for name in theirs], ours


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


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Each handler is a method of its name."""
    of = (broker.BrokerHandlers, PartitionControllerHandlers)
    needed = [handler_name(a) for a in (*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values())]
    return sorted(needed), sorted(n for each in of for n in dir(each) if n.startswith("handle_"))


log_functions = functions(
    *("PartitionLog", partition_log),
    ("Gone", "Corrupt", "NoPending", "NoRequest", "NoDivergence"),
)
lifted_actions = lifted(
    "PartitionReplication", (*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values())
)
values = values_in(
    {
        types.Record: ("PartitionLog", "[epoch |-> -1, value"),
        types.Batch: ("PartitionLog", "[first |->"),
        types.ProducerState: ("PartitionLog", "[producer |-> producer"),
        types.Partition: ("PartitionRow", "[leader |-> Nobody"),
        types.Image: ("PartitionRow", "[offset |-> InitialOffset"),
        types.BrokerState: ("PartitionRow", "[epoch |-> 0"),
        types.Remote: ("PartitionRow", "[endOffset |->"),
        types.Pending: ("PartitionLog", '[kind |-> "None"'),
        types.Parked: ("HighWatermark", "[request |-> m, offset"),
        types.Registration: ("PartitionController", "[epoch |-> 0"),
        types.Contact: ("PartitionController", "[live |-> TRUE"),
    }
)
# But for a produce error that nobody hears.
reasons = ignored(
    *(MODULES, (broker, isr, replication, controller), r'Ignore\(row, "(\w+)"\)'),
    [r'self\.ignore\(row, "(\w+)"\)', r'ControllerOutcome\(row, \(\), "(\w+)"\)'],
)
error_codes = errors(
    ("PartitionLog", "PartitionRules", *MODULES),
    (partition_log, partition_rules, partition_row, broker, isr, replication, controller),
)
invariants = promised_in(
    *("PartitionProperties", PARTITION_INVARIANTS),
    (
        *("Offsets", "ConsumerFetch", "ListLatest", "DeleteUpTo", "CacheFrom"),
        *("KnownCommitted", "Abstract"),
    ),
)
step_invariants = steps_in("PartitionProperties", PARTITION_INVARIANTS)

COMPARED = Compared(
    "partition",
    (
        *(rule_signatures, log_functions, broker_actions, controller_actions),
        *(lifted_actions, cases, helpers, row_fields, controller_row_fields, values),
        *(messages_and_inputs, reasons, error_codes, invariants, step_invariants),
        methods,
    ),
    (
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
