"""What becomes of a producer that is told an error, as docs/protocol-rules.md has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from reference.transactions.rules import RETRIABLE, TransactionRules
from reference.transactions.types import Client, Constants, initial_client

CONSTANTS = Constants((11, 12), 1, (1,), 1, recovers=True)
RULES = TransactionRules(CONSTANTS)
BEGIN, END = "<!-- errors of producers -->", "<!-- end of errors -->"


def told_by_rule(repo_root: Path) -> list[tuple[str, str, str]]:
    """Of each error and rule, what stands in the table."""
    text = (repo_root / "docs/protocol-rules.md").read_text("utf-8")
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
        if rule != "after_end_error":
            assert getattr(RULES, rule)(error) == said, (error, rule)
            continue
        of_commit, _, only = said.partition(", ")
        assert RULES.after_end_error("Commit", error) == of_commit, error
        assert RULES.after_end_error("Abort", error) == ("Unusable" if only else said), error


def test_an_error_that_nobody_knows_ends_a_producers_use() -> None:
    """But of a batch: there its transaction is all that is lost."""
    others = (RULES.after_init_error, RULES.after_add_error, RULES.after_offsets_error)
    assert {rule("NO_SUCH_ERROR") for rule in others} == {"Unusable"}
    assert RULES.after_end_error("Abort", "NO_SUCH_ERROR") == "Unusable"
    assert RULES.after_batch_error("NO_SUCH_ERROR") == "Abortable"


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
