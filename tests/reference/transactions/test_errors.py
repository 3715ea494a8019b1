"""A producer after an error, as the table in docs/reference/protocol-rules.md says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from kraftcheck.reference.transactions.client import ClientHandlers
from kraftcheck.reference.transactions.messages import (
    AddPartitions,
    BumpEpoch,
    Initialize,
    InitProducerId,
    Refused,
)
from kraftcheck.reference.transactions.rules import RETRIABLE, TransactionRules
from kraftcheck.reference.transactions.types import Client, Constants, initial_client

CONSTANTS = Constants((11, 12), 1, (1,), 1, recovers=True)
RULES = TransactionRules(CONSTANTS)
BEGIN, END = "<!-- errors of producers -->", "<!-- end of errors -->"
OF_WHAT: Final[dict[str, tuple[object, str, object]]] = {
    "after_add_error": (False, "partitions", True),
    "after_end_error": ("Commit", "a commit", "Abort"),
}
"""Of the rules that are told what was asked: that, in the table's words, and the other."""


def told_by_rule(repo_root: Path) -> list[tuple[str, str, str]]:
    """Of each error and rule, what stands in the table."""
    text = (repo_root / "docs/reference/protocol-rules.md").read_text("utf-8")
    lines = text.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    cells = [[each.strip() for each in line.strip("|").split("|")] for line in lines]
    rules = [each.split("`")[1] for each in cells[0][1:]]
    found = []
    for errors, *said in cells[2:]:
        for error in errors.split(", "):
            found += [(error, rule, words) for rule, words in zip(rules, said, strict=True)]
    return found


def test_the_table_is_what_the_rules_say(repo_root: Path) -> None:
    table = told_by_rule(repo_root)
    assert {error for error, _, _ in table} >= RETRIABLE
    for error, rule, said in table:
        decide = getattr(RULES, rule)
        if rule not in OF_WHAT:
            assert decide(error) == said, (error, rule)
            continue
        one, words, other = OF_WHAT[rule]
        found, _, only = said.partition(", of ")
        assert only in ("", words)
        assert decide(one, error) == found, (error, rule)
        assert decide(other, error) == ("Unusable" if only else found), (error, rule)


def test_an_error_that_nobody_knows_ends_a_producers_use() -> None:
    """But of a batch, or of a partition to be added: there its transaction is all that is lost."""
    others = (RULES.after_init_error, RULES.after_offsets_error)
    assert {rule("NO_SUCH_ERROR") for rule in others} == {"Unusable"}
    assert RULES.after_add_error(True, "NO_SUCH_ERROR") == "Unusable"
    assert RULES.after_end_error("Abort", "NO_SUCH_ERROR") == "Unusable"
    assert RULES.after_batch_error("NO_SUCH_ERROR") == "Abortable"
    assert RULES.after_add_error(False, "NO_SUCH_ERROR") == "Abortable"


@pytest.mark.parametrize(
    ("status", "asked"),
    [("Initializing", InitProducerId(1, 0, 1)), ("Bumping", BumpEpoch(1, 0, 1, 0))],
)
def test_one_that_is_not_authorised_may_initialise_again(
    status: str, asked: InitProducerId | BumpEpoch
) -> None:
    """Whether it asked for its first epoch, or for another one."""
    handlers = ClientHandlers(TransactionRules(replace(CONSTANTS, version=1)))
    told = handlers.step(
        1, client(status, ()), Refused(0, 1, asked, "CLUSTER_AUTHORIZATION_FAILED")
    )
    assert told is not None
    assert told.row.status == "Off"
    again = handlers.step(1, told.row, Initialize())
    assert again is not None
    assert again.row == initial_client(CONSTANTS, "Initializing")


def test_what_was_to_be_added_decides_over_an_error_that_nobody_expects() -> None:
    """Kafka adds offsets by a request of their own (AddOffsetsToTxn)."""
    constants = replace(CONSTANTS, version=1, offsets=(12,))
    handlers = ClientHandlers(TransactionRules(constants))
    row = replace(client("Open", ()), added=())
    said = {11: "Abortable", 12: "Unusable"}
    for p, status in said.items():
        asked = AddPartitions(1, 0, 1, p, row.epoch, 0)
        told = handlers.step(1, row, Refused(0, 1, asked, "UNKNOWN_SERVER_ERROR"))
        assert told is not None
        assert told.row.status == status


def client(status: str, acked: tuple[int, ...]) -> Client:
    row = initial_client(CONSTANTS, "Open")
    both = CONSTANTS.partitions
    # Any status.
    return replace(row, status=status, txn=1, sent=both, added=both, acked=acked)


@pytest.mark.parametrize(
    ("status", "acked", "commits", "aborts"),
    [
        ("Open", (11, 12), True, True),
        ("Open", (11,), False, False),
        ("Abortable", (11, 12), False, True),
        ("Abortable", (11,), False, True),
    ],
)
def test_only_what_is_whole_is_committed(
    status: str, acked: tuple[int, ...], commits: bool, aborts: bool
) -> None:
    row = client(status, acked)
    assert (RULES.may_commit(row), RULES.may_abort(row)) == (commits, aborts)
