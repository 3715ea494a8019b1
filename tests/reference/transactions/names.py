"""What is compared of the names of transactions."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from kraftcheck.reference.kit import tail_log as log
from kraftcheck.reference.transactions import rules
from kraftcheck.reference.transactions.client import ClientHandlers
from kraftcheck.reference.transactions.coordinator import CoordinatorHandlers
from kraftcheck.reference.transactions.partition import PartitionHandlers
from kraftcheck.reference.transactions.properties import PROPERTIES, History
from kraftcheck.reference.transactions.protocol import TRANSACTIONS
from kraftcheck.reference.transactions.reader import ReaderHandlers
from kraftcheck.reference.transactions.rules import TransactionRules
from tests.reference.vocabulary import (
    Compared,
    actions_of,
    listed,
    methods_of,
    operators,
    signatures,
    snake,
    spec,
    steps_of,
)

FUNCTIONS = ("Prepared", "CompletedAs", "DecisionOf", "DecidedUpTo")
WORDS = ("Unknown", "Preparing", "Completed", "Retriable", "FencingErrors", "Denied", *FUNCTIONS)
MODULES = (
    *("TransactionCoordinator", "TransactionPartition", "TransactionClient"),
    "TransactionReader",
)
# What a message is called, of which the spec's handler says what is done with it.
CALLED = {"HandleMarker": "HandleWriteTxnMarkers", "Send": "HandleSend"}
CALLED |= {"Initialize": "HandleInitialize", "GiveUp": "HandleGiveUp"}
CALLED |= {"SendMore": "HandleSendMore"}
# Step_End is two inputs; a Retry the spec's network does by itself; a tail is elected, and metadata
# changes, in Transactions.tla; there a fetch and its answer are one step.
BESIDE = {"HandleCommit", "HandleAbort", "HandleRetry", "HandleElect", "HandleAsk"}
BESIDE |= {"HandleLoseLeader", "HandleFindLeader", "HandlePoll", "HandleConsumerFetch"}


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    words = (*WORDS, "EpochPerTransaction", "EpochsOfId")
    return signatures(specs_dir, "TransactionRules", TransactionRules, words)


def words(specs_dir: Path) -> tuple[list[str], list[str]]:
    found = ((name, m) for name, m in vars(rules).items() if inspect.isfunction(m))
    ours = [name for name, m in found if m.__module__ == rules.__name__]
    return [snake(name) for name in FUNCTIONS], ours


def log_functions(specs_dir: Path) -> tuple[list[str], list[str]]:
    both = (*operators(spec(specs_dir, "TailLog")), *operators(spec(specs_dir, "LoadedLog")))
    names = [name for name in both if name != "InitialTailLog"]
    found = ((name, m) for name, m in vars(log).items() if inspect.isfunction(m))
    ours = [n for n, m in found if m.__module__ == log.__name__ and not n.startswith("_")]
    return [snake(name) for name in names], ours


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node."""
    names = {CALLED.get(name, name) for name in steps_of(specs_dir, MODULES) if name != "End"}
    return sorted(names | BESIDE), actions_of(TRANSACTIONS)


def lifted(specs_dir: Path) -> tuple[list[str], list[str]]:
    return sorted(steps_of(specs_dir, ("TransactionNodes",), "Node_")), actions_of(TRANSACTIONS)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    classes = (CoordinatorHandlers, PartitionHandlers, ClientHandlers, ReaderHandlers)
    return methods_of(TRANSACTIONS, classes)


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = listed(specs_dir, "transactions-two")
    names += set(listed(specs_dir, "transactions-swept")) - {*names}
    return names, [each.name for each in PROPERTIES]


def history(specs_dir: Path) -> tuple[list[str], list[str]]:
    """asked, aborts: in the spec, the network tells."""
    text = re.sub(r"\\\*[^\n]*", "", spec(specs_dir, "TransactionProperties"))
    variables = text.partition("VARIABLES")[2].partition("vars ==")[0]
    ours = [name for name in History.__struct_fields__ if name not in ("asked", "aborts")]
    return [snake(name) for name in re.findall(r"\w+", variables)], ours


COMPARED = Compared(
    "transactions",
    (rule_signatures, words, log_functions, steps, lifted, methods, properties, history),
    (
        (rule_signatures, "TransactionRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (log_functions, "TailLog", "Longest(log) == log", "longest"),
        (steps, "TransactionClient", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
        (lifted, "TransactionNodes", "Node_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
