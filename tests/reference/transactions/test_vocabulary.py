"""One vocabulary: the names in specs/transactions and those in reference/transactions.

The specs are read as text and never run, and each comparison is shown to report one name too many
on either side.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reference.kit.dispatch import action_name, handler_name
from reference.transactions import log, rules
from reference.transactions.client import ClientHandlers
from reference.transactions.coordinator import CoordinatorHandlers
from reference.transactions.partition import PartitionHandlers
from reference.transactions.properties import PROPERTIES, History
from reference.transactions.protocol import TRANSACTIONS
from reference.transactions.rules import TransactionRules
from tests.reference.quorum.test_vocabulary import differences, operators, snake, spec

WORDS = {"Unknown", "Preparing", "Completed", "Prepared", "CompletedAs", "DecisionOf"}
WORDS |= {"EpochPerTransaction"}
HANDLERS = (CoordinatorHandlers, PartitionHandlers, ClientHandlers)
# What a message is called, of which the spec's handler says what is done with it.
CALLED = {"HandleMarker": "HandleWriteTxnMarkers", "Send": "HandleSend"}
CALLED |= {"Initialize": "HandleInitialize"}
# Step_End is two inputs; a Retry the spec's network does by itself; a tail is elected, and metadata
# changes, in Transactions.tla.
BESIDE = {"HandleCommit", "HandleAbort", "HandleRetry", "HandleElect", "HandleAsk"}
BESIDE |= {"HandleLoseLeader", "HandleFindLeader"}


def rules_of_spec(specs_dir: Path) -> dict[str, list[str]]:
    found = operators(spec(specs_dir, "TransactionRules"))
    return {name: parameters for name, parameters in found.items() if name not in WORDS}


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = [
        f"{snake(name)}({', '.join(map(snake, parameters))})"
        for name, parameters in rules_of_spec(specs_dir).items()
    ]
    ours = []
    for name, member in vars(TransactionRules).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            parameters = list(inspect.signature(member).parameters)[1:]
            ours.append(f"{name}({', '.join(parameters)})")
    return theirs, ours


def words(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = ("Prepared", "CompletedAs", "DecisionOf")
    ours = [name for name, member in vars(rules).items() if inspect.isfunction(member)]
    return [snake(name) for name in names], ours


def log_functions(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = [n for n in operators(spec(specs_dir, "TailLog")) if n != "InitialTailLog"]
    own = log.__name__
    ours = [n for n, m in vars(log).items() if getattr(m, "__module__", "") == own]
    return [snake(name) for name in names], ours


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node, and its method."""
    modules = ("TransactionCoordinator", "TransactionPartition", "TransactionClient")
    found = [n for m in modules for n in operators(spec(specs_dir, m)) if n.startswith("Step_")]
    names = [name.removeprefix("Step_") for name in found]
    theirs = sorted({CALLED.get(name, name) for name in names if name != "End"} | BESIDE)
    return theirs, sorted({action_name(of) for kind in TRANSACTIONS.kinds for of in kind.inputs})


def lifted(specs_dir: Path) -> tuple[list[str], list[str]]:
    found = operators(spec(specs_dir, "TransactionNodes"))
    theirs = sorted(n.removeprefix("Node_") for n in found if n.startswith("Node_"))
    return theirs, sorted({action_name(of) for kind in TRANSACTIONS.kinds for of in kind.inputs})


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = [handler_name(action) for action in lifted(specs_dir)[1]]
    return theirs, sorted(n for of in HANDLERS for n in vars(of) if n.startswith("handle_"))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = (specs_dir / "transactions/models/transactions-two.cfg").read_text("utf-8")
    listed = text.partition("INVARIANTS\n")[2].replace("PROPERTIES\n", "")
    return re.findall(r"\w+", listed), [each.name for each in PROPERTIES]


def history(specs_dir: Path) -> tuple[list[str], list[str]]:
    """asked: in the spec, the network tells."""
    text = re.sub(r"\\\*[^\n]*", "", spec(specs_dir, "TransactionProperties"))
    variables = text.partition("VARIABLES")[2].partition("vars ==")[0]
    ours = [name for name in History.__struct_fields__ if name != "asked"]
    return [snake(name) for name in re.findall(r"\w+", variables)], ours


Compared = Callable[[Path], tuple[list[str], list[str]]]
COMPARED: tuple[Compared, ...] = (
    *(rule_signatures, words, log_functions, steps, lifted, methods, properties, history),
)


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: each.__name__)
def test_both_sides_have_the_same_names(compared: Compared, specs_dir: Path) -> None:
    theirs, ours = compared(specs_dir)
    assert theirs and differences(theirs, ours) == []


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: each.__name__)
def test_a_name_on_one_side_only_is_told(compared: Compared, specs_dir: Path) -> None:
    theirs, ours = compared(specs_dir)
    assert differences([*theirs, "Strange"], ours) == ["only in specs: Strange"]
    assert differences(theirs, [*ours, "strange"]) == ["only in reference: strange"]
