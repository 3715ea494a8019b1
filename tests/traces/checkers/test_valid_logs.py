"""Logs that are valid by construction hold, and what is changed in them is found or harmless.

A smaller run of `python -m tests.traces.checkers.valid_logs`; and the run itself is seen to fail.
"""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from kraftcheck.reference.clients.promises import TABLE, Configuration, Envelope, promised
from kraftcheck.traces.checkers import scans
from kraftcheck.traces.checkers.columns import indices
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import Operation
from tests.reference.clients.tables import another_table
from tests.traces.checkers.calls import call, history
from tests.traces.checkers.log_world import (
    CONFIGURATIONS,
    ENVELOPES,
    SETTINGS,
    Setting,
    log_history,
)
from tests.traces.checkers.slow_logs import explained
from tests.traces.checkers.valid_logs import FALSE, FOUND, HARMLESS, MISSED, judged, report, tally

EACH = 4


def setting(level: str, fault: str) -> Setting:
    return next(s for s in SETTINGS if (s.level, s.fault) == (level, fault))


def test_the_last_offset_of_all_may_be_the_end_of_a_transaction() -> None:
    """A fetch was told of it, behind all records."""
    moved = setting("read committed", "moved")
    assert judged(moved, [log_history(moved, 6, 7)]) == [HOLDS]


@pytest.mark.slow
def test_valid_logs_hold_and_what_is_changed_is_found_or_harmless() -> None:
    found = [tally(each, 0, EACH) for each in SETTINGS]
    assert [(each.setting[:2], each.wrong) for each in found if each.wrong] == []
    valid, changed = Counter[str](), Counter[str]()
    for each in found:
        valid.update(each.valid)
        changed.update(each.changed)
    assert valid[HOLDS] + valid[UNKNOWN] == EACH * len(SETTINGS)
    assert valid[UNKNOWN] < 0.03 * valid[HOLDS]
    assert min(changed[FOUND], changed[HARMLESS]) > EACH * len(SETTINGS) / 5
    assert not changed[MISSED] and not changed[FALSE]


def test_every_row_of_promises_has_a_setting() -> None:
    """But for the rows of the metadata log, where no more is promised than nothing, and where the
    logs are those of another row: what late requests do is seen in transactions, and what a moved
    leader does in share groups.
    """
    rows = {row for each in SETTINGS for row in each.promise.rows}
    assert {row.id for row in TABLE} - rows == {
        *("voter-disk", "lossy-isr", "late-request", "share-moved"),
    }
    assert len(SETTINGS) > len(CONFIGURATIONS) * (len(ENVELOPES) - 2)


def test_a_seed_is_a_history() -> None:
    one = setting("acks=all", "clean")
    assert log_history(one, 7, 20) == log_history(one, 7, 20) != log_history(one, 8, 20)


# -- What is wrong is noticed


def test_a_promise_that_allows_too_little_is_noticed() -> None:
    """As it was: a new leader that shows an older start, with acks of all only."""
    usual = next(row for row in TABLE if row.id == "moved")
    narrow = usual._replace(applies=lambda c, e: e.leader_moves > 0 and c.acks == "all")
    table = tuple(narrow if row is usual else row for row in TABLE)
    with another_table(table):
        found = tally(setting("acks=0", "moved"), 0, 60)
    assert found.valid[VIOLATED] and "a valid log is violated" in found.wrong[0]
    assert not report([found])


def test_a_check_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "future_reads", lambda records, _: indices(records.judged & 0))
    found = tally(setting("acks=all", "clean"), 0, 250)
    assert found.changed[MISSED]


def test_a_check_that_finds_too_much_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin explains what was changed to no effect."""
    usual = scans.late_slots
    monkeypatch.setattr(
        scans,
        "late_slots",
        lambda r, s: indices((r.owner[:-1] >= 0) | (usual(r, s) < 0).any()),
    )
    found = tally(setting("acks=all", "none"), 0, 60)
    assert found.valid[VIOLATED] and found.changed[FALSE]


@pytest.mark.parametrize(
    ("wrong", "envelope", "verdict"),
    [
        (call("fetch", 20, 25, 0, ((0, "a"),)), Envelope(), True),
        (call("fetch", 20, 25, 0, ()), Envelope(), False),
        (call("fetch", 20, 25, 0, ()), Envelope(leader_moves=1), True),
        (call("fetch", 20, 25, 0, ((0, "b"),)), Envelope(leader_moves=1), False),
        (call("fetch", 20, 25, 0, ((0, "b"),)), Envelope(unclean_moves=1), True),
        (call("latest", 20, 25, None, 2), Envelope(leader_moves=1), False),
    ],
)
def test_the_twin_tells_what_a_promise_explains(
    wrong: Operation, envelope: Envelope, verdict: bool
) -> None:
    made = history(call("append", 0, 5, "a", 0), wrong, model="partition-log")
    keyed = [msgspec.structs.replace(each, key="log-0") for each in made.operations]
    made = msgspec.structs.replace(made, operations=tuple(keyed))
    promise = promised(Configuration(one_client=False), envelope)
    assert explained(made, promise, gaps=False) is verdict


def test_who_wrote_a_value_of_several_is_not_guessed_for_sessions() -> None:
    """Found by 20,400 logs more: one of three tombstones of a key was taken for another."""
    keyed = setting("compacted, keyed", "lossy")
    found = tally(keyed, 41_000_143, 41_000_144)
    assert found.wrong == [] and found.valid == Counter({UNKNOWN: 1})
