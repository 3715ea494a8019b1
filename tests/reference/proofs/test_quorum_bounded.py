"""Reachable counterexamples of what logs hold: found, confirmed on the handlers, not invented."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import z3

from reference.bugs.catalog import bug
from reference.core import log as core_log
from reference.core.log import Entry
from reference.core.rules import QuorumRules
from reference.proofs import quorum_bounded, quorum_exact, quorum_moves
from reference.proofs.moves import Done
from reference.proofs.partition_exact import EPOCHS, PLACES
from reference.proofs.quorum_bounded import QuorumReplay, find_in_logs
from reference.proofs.quorum_exact import ValuedLog, ValuedRecords
from reference.proofs.quorum_moves import QuorumMoves
from reference.proofs.replaying import Disabled
from reference.proofs.symbolic import term_of

RESUMES = ("Leads 0 1", "Appends 0", "Fetches 1 0", "Crashes 0")
"""What Z02 needs: a record that the other has and the leader loses."""


def rules_of(id: str) -> Any:
    return bug(id).replacement


def test_a_bug_has_a_counterexample_that_the_handlers_confirm() -> None:
    found = find_in_logs(2, rules_of("Z02"), "LogMatching", 5, least=5, names=RESUMES)
    assert found.confirmed and not found.reason and found.length == 5
    assert len(found.steps) == 5 + 1 and "nodes 0 and 1" in found.steps[-1]
    assert "log <0~1 0~1>" in found.steps[-2]


STARTS = ("Wins 0 1", "Crashes 0")


@pytest.mark.parametrize("id", ["Z20", None])
def test_the_bug_is_found_and_the_correct_rules_have_none(id: str | None) -> None:
    rules = QuorumRules if id is None else rules_of(id)
    found = find_in_logs(2, rules, "EpochCacheSound", 2, names=STARTS)
    assert found.confirmed == (id is not None) and not found.reason
    assert bool(found.steps) == found.confirmed


def test_a_search_without_time_says_so_and_finds_nothing() -> None:
    found = find_in_logs(2, QuorumRules, "LogMatching", 3, timeout_s=0.0, names=("Crashes",))
    assert "time limit" in found.reason and not found.confirmed


def test_what_the_handlers_do_not_do_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a relation in which a crash commits what nobody has."""
    made = QuorumMoves._crashes

    def commits(self: QuorumMoves, n: int) -> object:
        return replace(made(self, n), updates={"committed.length": z3.IntVal(1)})

    monkeypatch.setitem(quorum_moves.ALONE, "Crashes", commits)
    found = find_in_logs(2, QuorumRules, "CommittedSurvives", 1, names=("Crashes 0",))
    assert found.length == 1 and not found.confirmed


def test_a_move_that_is_disabled_is_told() -> None:
    replay = QuorumReplay(2, QuorumRules)
    with pytest.raises(Disabled, match="no request of voter 0 is on its way to 1"):
        replay.do(Done("Fetches", 0, 1), 0)
    with pytest.raises(Disabled, match="voter 0 does not do Append"):
        replay.do(Done("Appends", 0), 0)


def test_every_move_of_the_search_can_be_replayed() -> None:
    names = {done.name for done, _ in QuorumMoves(2, QuorumRules, ("None",))._makers()}
    assert names == set(quorum_bounded._STEPS) | set(quorum_moves.TOGETHER)


BRANCHES = ("Wins 0 1", "Wins 1 2", "Begins 1 0")
"""Two leaders, each with a record of its own at the first offset."""
FIGURE_8 = (
    *("Wins 0 1", "Flushes 0", "Wins 1 2", "Begins 1 0", "Wins 0 2", "Begins 0 1", "Stands 1 2"),
    *("Begins 0 2", "Fetches 2 0", "Fetches 2 0", "Votes 1 2"),
)
LEADS = ("Leads 0 1", "Flushes 0", "Fetches 1 0", "Fetches 1 0")
SCHEDULES: dict[str, tuple[int, str, Sequence[str]]] = {
    "Z02": (2, "LogMatching", ("Leads 0 1", "Fetches 1 0", "Appends 0", "Fetches 1 0", "Crashes")),
    "Z03": (2, "CommittedSurvives", LEADS),
    "Z04": (3, "LeaderCompleteness", FIGURE_8),
    "Z05": (3, "LeaderCompleteness", FIGURE_8),
    "Z06": (
        *(3, "LeaderCompleteness"),
        (
            *("Leads 0 2", "Flushes 0", "Stands 1 2", "Stands 1 2", "Fetches 2 0", "Fetches 2 0"),
            "Votes 1 0",
        ),
    ),
    "Z07": (
        *(3, "LogMatching"),
        (*BRANCHES, "Appends 1", "Flushes 1", "Fetches 0 1"),
    ),
    "Z20": (
        *(2, "EpochCacheSound"),
        ("Wins 0 1", "Crashes 0", "TimesOut 0", "Wins 0 1", "Crashes 0"),
    ),
    "Z08": (3, "CommittedSurvives", (*BRANCHES, "Flushes 1", "Fetches 0 1")),
}
"""The counterexamples as they are told to the handlers: most take too long for a test to search."""


def played(id: str | None, voters: int, property: str, schedule: Sequence[str]) -> bool:
    """Whether these moves break the property. Without a bug they may end early."""
    replay = QuorumReplay(voters, QuorumRules if id is None else rules_of(id))
    for words in map(str.split, schedule):
        who = map(int, words[1:]) if words[1:] else [0]
        try:
            replay.do(Done(words[0], *who), 1)
        except Disabled:
            assert id is None
            break
    return replay.wrong(property) is not None


@pytest.mark.parametrize("id", SCHEDULES)
def test_a_schedule_breaks_the_bug_at_its_end_and_nothing_else(id: str) -> None:
    voters, property, schedule = SCHEDULES[id]
    assert played(id, voters, property, schedule)
    assert not played(id, voters, property, schedule[:-1])
    assert not played(None, voters, property, schedule)


def state(replay: QuorumReplay) -> dict[str, Any]:
    """The variables of the search, as the handlers have left them."""
    committed = quorum_exact.written(replay.history.committed)
    at: dict[str, Any] = {"committed.length": committed.length}
    for place in range(PLACES):
        at[f"committed.log.{place}"] = committed.epochs[place]
        at[f"committed.value.{place}"] = committed.values[place]
    for v, row in replay.rows.items():
        view = quorum_moves.exact_view(row, replay.constants.voters)
        at |= {f"v{v}.{name}": term for name, term in view.items()}
    return at


def test_the_properties_are_those_of_the_reference() -> None:
    seen = set()
    for id, (voters, _, schedule) in SCHEDULES.items():
        moves, replay = QuorumMoves(voters, names=("None",)), QuorumReplay(voters, rules_of(id))
        for words in map(str.split, schedule):
            replay.do(Done(words[0], *(map(int, words[1:]) if words[1:] else [0])), 1)
            for property in quorum_moves.PROPERTIES:
                term = z3.simplify(moves.broken(property, state(replay)))
                broken = replay.wrong(property) is not None
                assert z3.is_true(term) == broken and z3.is_false(term) != broken
                seen.add((property, broken))
    assert len(seen) == 2 * len(quorum_moves.PROPERTIES)


# --- The functions on logs and epoch caches, against those of core/log.py.


def symbolic(log: core_log.Log) -> ValuedLog:
    padded = [*log, *[Entry(0, 0)] * (PLACES - len(log))]
    epochs, values = zip(*((z3.IntVal(e.epoch), z3.IntVal(e.value)) for e in padded), strict=True)
    return ValuedLog(z3.IntVal(len(log)), epochs, values)


def number(value: Any) -> int:
    term: Any = z3.simplify(value if z3.is_expr(value) else term_of(value))
    return int(term.as_long())


def concrete(log: ValuedLog) -> core_log.Log:
    pairs = zip(map(number, log.epochs), map(number, log.values), strict=True)
    return tuple(Entry(*pair) for pair in pairs)[: number(log.length)]


LOGS = [
    (),
    *[(Entry(a, v),) for a in (1, 3) for v in (0, 1)],
    *[(Entry(a, 0), Entry(b, b % 2)) for a in (1, 2) for b in (2, 4) if a <= b],
]


@pytest.mark.parametrize("log", LOGS)
def test_logs_are_cut_and_served_as_the_reference_does(log: core_log.Log) -> None:
    mine = symbolic(log)
    assert number(quorum_exact.end_offset(mine)) == len(log)
    for offset in range(4):
        assert concrete(quorum_exact.prefix(mine, offset)) == core_log.prefix(log, offset)
        for end in range(len(log) + 1):
            served = quorum_exact.slice_of(mine, offset, end, 1)
            records = core_log.slice_of(log, offset, end, 1)
            told = [number(t) for t in (served.number, served.epoch, served.value)]
            assert told == ([1, records[0].epoch, records[0].value] if records else [0, 0, 0])


@pytest.mark.parametrize("log", LOGS)
def test_epoch_caches_answer_as_the_reference_does(log: core_log.Log) -> None:
    cache = core_log.cache_of(log)
    assert number(quorum_exact.latest_epoch(cache)) == core_log.latest_epoch(cache)
    for epoch in range(EPOCHS + 1):
        mine = quorum_exact.end_offset_for_epoch(cache, len(log), epoch)
        theirs = core_log.end_offset_for_epoch(cache, len(log), epoch)
        assert (number(mine.epoch), number(mine.end_offset)) == (theirs.epoch, theirs.end_offset)


def test_a_record_is_appended_where_the_log_ends() -> None:
    log = (Entry(1, 0),)
    written = quorum_exact.written((symbolic(log), Entry(1, 1)))
    assert concrete(written) == (*log, Entry(1, 1))
    fetched = ValuedRecords(z3.IntVal(1), z3.IntVal(2), z3.IntVal(0))
    assert concrete(symbolic(log) + fetched) == (*log, Entry(2, 0))
    nothing = ValuedRecords(z3.IntVal(0), z3.IntVal(0), z3.IntVal(0))
    assert concrete(symbolic(log) + nothing) == log
