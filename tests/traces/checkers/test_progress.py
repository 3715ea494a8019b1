"""Where members of groups begin to read, at the edges of what justifies it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.reference.clients.promises import Configuration
from tests.traces.checkers.test_groups import Facts
from tests.traces.checkers.test_transactions import names

SEND_4 = '[[:send "t" 14]]', '[[:send "t" [4 14]]]'


@pytest.mark.parametrize(("before", "later_s"), [(True, 0), (False, 0), (False, -1)])
def test_a_commit_that_nobody_answered_justifies_no_start_before_it(
    before: bool, later_s: int, tmp_path: Path
) -> None:
    """The next member begins at 4, and 3 may have been committed then: or only afterwards, be it in
    the moment in which it had begun."""
    told = Facts().sent(10, 11).op(0, "send", *SEND_4).given(1).poll(1, 0, 1).commit(1, 1)
    if before:
        told.commit(1, 3, "info")
    told.taken(1).given(2).poll(2, 4)
    if not before:
        told.later(later_s).commit(1, 3, "info")
    found = names(told.report(tmp_path / "history.edn"))
    assert ("wrong-start" in found) is not before, found


def test_a_group_that_committed_nothing_begins_wrongly_and_not_early(tmp_path: Path) -> None:
    told = Facts().sent(10, 11, 12).poll(8, 0, 1, 2).given(1).poll(1, 2)
    own = Configuration(consumers="listen", one_client=False, reset="earliest")
    found = names(told.report(tmp_path / "history.edn", own))
    assert "wrong-start" in found and "early-start" not in found, found


def test_who_reads_without_the_partition_has_no_start(tmp_path: Path) -> None:
    """Wrong is that it reads: it was the member that had it before."""
    told = Facts().sent(10, 11, 12).given(1).poll(1, 0, 1).commit(1, 2).taken(1)
    told.given(2).poll(2, 2).poll(1, 0)
    found = names(told.report(tmp_path / "history.edn"))
    assert "unowned-poll" in found and not found & {"wrong-start", "early-start"}, found


@pytest.mark.parametrize(("offset", "name"), [(1, "stale-offset"), (-1, "offset-lost")])
def test_the_last_commit_before_is_named(offset: int, name: str, tmp_path: Path) -> None:
    """Of the place and answered by then: not one that was before it, of another topic, under way or
    answered as late as it was asked."""
    told = Facts().sent(10, 11, 12).given(1).poll(1, 0, 1, 2).commit(1, 1).commit(1, 2)
    told.op(1, "commit-offsets", '["g" [["u" 7]]]')
    told.event(1, "invoke", "commit-offsets", '["g" [["t" 3]]]').later(-1)
    told.event(9, "invoke", "committed", '["g" nil]').later(-1)
    told.event(1, "ok", "commit-offsets", '["g" [["t" 3]]]')
    told.event(9, "ok", "committed", f'["g" [["t" {offset}]]]')
    [part] = [each for each in told.report(tmp_path / "history.edn").anomalies if each.name == name]
    assert part.certificates[0].sentence.endswith("after 2 had been"), part.certificates
