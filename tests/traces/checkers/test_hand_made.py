"""Histories made by hand, each with the one right answer that a person gives it.

A case: its name, the history (hand_made.py), what is asked of it, the verdict, and which anomalies
are not allowed. `log` is a group's log, as test_groups.py writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from kraftcheck.reference.clients.promises import Configuration, Envelope, Level, promised
from kraftcheck.traces import grouplog
from kraftcheck.traces.checkers import (
    anomalies_values,
    assessment,
    columns,
    coordinated,
    log as logs,
    members,
    ownership,
    progress,
    version_order,
)
from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.check import check_history, check_log, configuration_in
from kraftcheck.traces.checkers.fetches import Fetches
from kraftcheck.traces.formats.columns import rows_of, write
from kraftcheck.traces.history import MEMBER_OPERATIONS, TRANSACTION_OPERATIONS
from tests.traces.checkers.hand_made import made
from tests.traces.checkers.test_groups import records

HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"
READ = {"complete": True}
STOPPED = {"complete": False}
MOVED = {"envelope": Envelope(leader_moves=1)}


def of(**configuration: Any) -> dict[str, Any]:
    return {"configuration": Configuration(one_client=False, **configuration)}


KEYS_UNKNOWN = of(compaction="keys-unknown")
SUBSCRIBED = of(consumers="subscribe")
FIVE = "0 send 10@0; 0 send 11@1; 0 send 12@2; 0 send 13@3; 0 send 14@4; "
FOUR = "0 send 10@0; 0 send 11@1; 0 send 12@2; 0 send 13@3; "
SHOWN = "0:10 1:11 2:12 3:13"
GROUP = "0 send 10@0; 0 send 11@1; 0 send 12@2; 1 given as=1; 1 poll from=0 0:10 1:11 2:12; "
"""A member that has read three records."""
ONE = "0 send 7@0; 9 poll 0:7; "
"""So that there is a log, whose records are read."""
BOTH = ONE + "1> commit 4; 2> commit 5; 1< commit 4; 2< commit 5; "


class Case(NamedTuple):
    name: str
    text: str
    asked: dict[str, Any]
    verdict: str
    forbidden: tuple[str, ...] = ()
    log: str = ""


TAILS = [
    Case("the last is not read", FIVE + f"1 poll {SHOWN}", {}, UNKNOWN),
    Case("the last is lost", FIVE + f"1 poll {SHOWN}", READ, VIOLATED, ("unseen",)),
    Case("only what was read", FIVE + f"1 poll {SHOWN}", STOPPED, HOLDS),
    Case("all is read", FIVE + f"1 poll {SHOWN} 4:14", {}, HOLDS),
    Case("all is read, to the end", FIVE + f"1 poll {SHOWN} 4:14", READ, HOLDS),
    Case("nobody reads", "0 send 7@0; 0 send 8@1", {}, UNKNOWN),
    Case("nobody finds anything", "0 send 7@0; 0 send 8@1", READ, VIOLATED, ("unseen",)),
    Case("nobody reads, and stops", "0 send 7@0; 0 send 8@1", STOPPED, HOLDS),
    Case("two consumers, each a half", FOUR + "1 poll 0:10 1:11; 2 poll 2:12 3:13", READ, HOLDS),
    Case("by the first of two alone", FOUR + f"1 poll {SHOWN}; 2 poll 0:10 1:11", READ, HOLDS),
    Case("a send that failed", "0 send 7@0; 0 send 8!; 1 poll 0:7", READ, HOLDS),
    Case("a send without an answer", "0 send 7@0; 0 send 8?; 1 poll 0:7", READ, HOLDS),
    Case("a send without an answer, unasked", "0 send 7@0; 0 send 8?; 1 poll 0:7", {}, HOLDS),
    Case("an ack without offset", "0 send 7@0; 0 send 8; 1 poll 0:7", {}, UNKNOWN),
    Case(
        "an ack without offset, lost",
        "0 send 7@0; 0 send 8; 1 poll 0:7",
        READ,
        VIOLATED,
        ("unseen",),
    ),
    Case("an ack without offset, read", "0 send 7@0; 0 send 8; 1 poll 0:7 1:8", READ, HOLDS),
    Case("acks of none", FIVE + f"1 poll {SHOWN}", {**of(acks="0"), **READ}, HOLDS),
    Case("acks of none, unasked", FIVE + f"1 poll {SHOWN}", of(acks="0"), HOLDS),
    Case("acks of one", FIVE + f"1 poll {SHOWN}", {**of(acks="1"), **READ}, VIOLATED, ("unseen",)),
    Case(
        "acks of one, and the leader moved",
        FIVE + f"1 poll {SHOWN}",
        {**of(acks="1"), **READ, **MOVED},
        HOLDS,
    ),
    Case(
        "acks of one, and the leader moved, unasked",
        FIVE + f"1 poll {SHOWN}",
        {**of(acks="1"), **MOVED},
        HOLDS,
    ),
    Case("the leader moved", FIVE + f"1 poll {SHOWN}", {**READ, **MOVED}, VIOLATED, ("unseen",)),
    Case("the leader moved, unasked", FIVE + f"1 poll {SHOWN}", MOVED, UNKNOWN),
    Case(
        "an unclean election",
        FIVE + f"1 poll {SHOWN}",
        {**READ, "envelope": Envelope(unclean_moves=1)},
        HOLDS,
    ),
    Case("another partition is not read", "0 send 7@0; u: 0 send 8@0; 1 poll 0:7", {}, UNKNOWN),
    Case(
        "another partition is lost",
        "0 send 7@0; u: 0 send 8@0; 1 poll 0:7",
        READ,
        VIOLATED,
        ("unseen",),
    ),
    Case(
        "one violated, one not read",
        "0 send 7@0; 1 poll 0:9; u: 0 send 8@0",
        {},
        VIOLATED,
        ("phantom", "inconsistent-offsets", "lost-write"),
    ),
    Case("the middle is lost", FOUR + "1 poll 0:10; 2 poll 3:13", {}, VIOLATED, ("lost-write",)),
    Case("before where all began", FOUR + "1 poll from=2 2:12 3:13", {}, UNKNOWN),
    Case("before where all began, to the end", FOUR + "1 poll from=2 2:12 3:13", READ, UNKNOWN),
    Case("before where all began, and stopped", FOUR + "1 poll from=2 2:12 3:13", STOPPED, HOLDS),
    Case(
        "before where one began",
        FOUR + "1 poll from=2 2:12 3:13; 2 poll from=0 0:10",
        READ,
        VIOLATED,
        ("unseen",),
    ),
    Case(
        "behind where all began",
        FIVE + "1 poll from=3 3:13; 2 poll from=0 0:10 1:11 2:12",
        READ,
        VIOLATED,
        ("unseen",),
    ),
    Case("deleted by retention", FOUR + "2 earliest 2; 1 poll from=2 2:12 3:13", READ, HOLDS),
    Case(
        "deleted by retention, unasked", FOUR + "2 earliest 2; 1 poll from=2 2:12 3:13", {}, HOLDS
    ),
    Case(
        "a level asks for order alone",
        FIVE + f"1 poll {SHOWN}",
        {"level": Level.LINEARIZABLE},
        HOLDS,
    ),
    Case(
        "a level asks for what is durable",
        FIVE + f"1 poll {SHOWN}",
        {"level": Level.DURABLE_PREFIX, **READ},
        VIOLATED,
        ("unseen",),
    ),
    Case(
        "a level below that",
        FIVE + f"1 poll {SHOWN}",
        {"level": Level.CONSISTENT_PREFIX, **READ},
        HOLDS,
    ),
    Case(
        "compacted, and a later one stands",
        FIVE + "1 poll from=0 4:14",
        {**KEYS_UNKNOWN, **READ},
        HOLDS,
    ),
    Case(
        "compacted, and the newest is lost",
        FIVE + f"1 poll {SHOWN}",
        {**KEYS_UNKNOWN, **READ},
        VIOLATED,
        ("unseen",),
    ),
    Case("compacted, and the newest is not read", FIVE + f"1 poll {SHOWN}", KEYS_UNKNOWN, UNKNOWN),
    Case(
        "compacted, and one without an answer may stand behind",
        FIVE + f"0 send 15?; 1 poll {SHOWN}",
        {**KEYS_UNKNOWN, **READ},
        HOLDS,
    ),
    Case(
        "committed and passed over",
        "0 begin T1; 0 send 7@0 T1; 0 end commit T1; 0 send 8@2; 1 poll 2:8",
        {},
        VIOLATED,
        ("lost-write",),
    ),
    Case(
        "committed and not read",
        "0 send 6@0; 0 begin T1; 0 send 7@1 T1; 0 end commit T1; 1 poll 0:6",
        {},
        UNKNOWN,
    ),
    Case(
        "committed and lost",
        "0 send 6@0; 0 begin T1; 0 send 7@1 T1; 0 end commit T1; 1 poll 0:6",
        READ,
        VIOLATED,
        ("unseen",),
    ),
    Case(
        "aborted and not read",
        "0 begin T1; 0 send 7@0 T1; 0 end abort T1; 0 send 8@2; 1 poll 2:8",
        READ,
        HOLDS,
    ),
    Case("open in the end", "0 send 6@0; 0 begin T1; 0 send 7@1 T1; 1 poll 0:6", {}, HOLDS),
]
POSITIONS = [
    Case(
        "beyond an acknowledged one",
        FIVE + f"1 poll {SHOWN} to=5",
        STOPPED,
        VIOLATED,
        ("poll-skip",),
    ),
    Case("right behind", FIVE + f"1 poll {SHOWN} to=4", STOPPED, HOLDS),
    Case("right behind, and on", FIVE + f"1 poll {SHOWN} to=4; 1 poll to=5 4:14", {}, HOLDS),
    Case(
        "beyond one that another reads",
        FIVE + f"1 poll {SHOWN} to=5; 2 poll from=4 4:14",
        {},
        VIOLATED,
        ("poll-skip",),
    ),
    Case(
        "beyond one that came later",
        FOUR + f"1 poll {SHOWN} to=5; 0 send 14@4; 2 poll from=4 4:14",
        {},
        VIOLATED,
        ("poll-skip", "future-read"),
    ),
    Case(
        "beyond one without an answer",
        FOUR + f"0 send 14?; 1 poll {SHOWN} to=5",
        {},
        VIOLATED,
        ("poll-skip",),
    ),
    Case("beyond all that was sent", FOUR + f"1 poll {SHOWN} to=9", {}, VIOLATED, ("poll-skip",)),
    Case(
        "found nothing, and went on",
        "0 send 7@0; 1 poll from=0 to=1; 2 poll 0:7",
        {},
        VIOLATED,
        ("poll-skip",),
    ),
    Case("found nothing, and stays", "1 poll from=0 to=0; 0 send 7@0; 2 poll 0:7", {}, HOLDS),
    Case(
        "found nothing, and stays too long",
        "0 send 7@0; 1 poll from=0 to=0; 2 poll 0:7",
        {},
        VIOLATED,
        ("stale-read",),
    ),
    Case("sought beyond the end", "0 send 7@0; 1 poll from=5 to=5; 2 poll 0:7", {}, HOLDS),
    Case("nothing from anywhere", "0 send 7@0; 1 poll to=1; 2 poll 0:7", {}, HOLDS),
    Case(
        "over a control record",
        "0 send 7@0; 0 send 8@2; 1 poll 0:7 to=2; 1 poll to=3 2:8",
        of(transactions=True, isolation="read_committed"),
        HOLDS,
    ),
    Case(
        "over a record among control records",
        "0 send 7@0; 0 send 8@2; 1 poll 0:7 to=4; 2 poll 2:8",
        of(transactions=True, isolation="read_committed"),
        VIOLATED,
        ("poll-skip",),
    ),
    Case(
        "empty over control records",
        "0 send 7@4; 1 poll from=0 to=4; 1 poll to=5 4:7",
        of(transactions=True, isolation="read_committed"),
        HOLDS,
    ),
    Case(
        "compacted, over one that was replaced",
        FIVE + "1 poll 0:10 to=4; 2 poll from=4 4:14",
        KEYS_UNKNOWN,
        HOLDS,
    ),
    Case("compacted, over the newest", FIVE + f"1 poll {SHOWN} to=5", KEYS_UNKNOWN, VIOLATED, ()),
    Case(
        "compacted, over the newest, and one may stand behind",
        FIVE + f"0 send 15?; 1 poll {SHOWN} to=5",
        {**KEYS_UNKNOWN, **STOPPED},
        UNKNOWN,
    ),
    Case(
        "who subscribes stands where a rebalance puts it",
        FIVE + f"1 subscribe; 1 poll {SHOWN} to=5; 2 poll from=4 4:14",
        SUBSCRIBED,
        HOLDS,
    ),
    Case("a member stands where it read", GROUP + "1 poll to=3", {}, HOLDS),
    Case(
        "a member stands beyond",
        "0 send 10@0; 0 send 11@1; 1 given; 1 poll 0:10 to=2; 2 poll from=1 1:11",
        {},
        VIOLATED,
        ("poll-skip",),
    ),
    Case(
        "a rebalance within a poll moves it",
        "0 send 10@0; 0 send 11@1; 1 given; 1> poll; 1 revoked; 1 given; 1< poll 0:10 to=2; "
        "3 poll from=1 1:11",
        {},
        HOLDS,
    ),
    Case(
        "acks of one, and the leader moved",
        FIVE + f"1 poll {SHOWN} to=5",
        {**of(acks="1"), **MOVED},
        HOLDS,
    ),
    Case(
        "a stale replica does not pass over",
        FIVE + f"1 poll {SHOWN} to=5; 2 poll from=4 4:14",
        of(reads_from="any"),
        VIOLATED,
        ("poll-skip",),
    ),
    Case(
        "the end is before where it stands",
        FOUR + f"1 poll {SHOWN} to=4 end=3",
        {},
        VIOLATED,
        ("poll-skip", "stale-read"),
    ),
    Case("an answer that never came", "0 send 7@0; 1 poll to=9?; 2 poll 0:7", {}, HOLDS),
]
OFFSETS = [
    Case("nothing, as nothing was committed", ONE + "3 told -1", {}, HOLDS),
    Case("what was committed", ONE + "1 commit 4; 3 told 4", {}, HOLDS),
    Case("what nobody committed", ONE + "1 commit 4; 3 told 5", {}, VIOLATED, ("unknown-offset",)),
    Case("what nobody committed, ever", ONE + "3 told 5", {}, VIOLATED, ("unknown-offset",)),
    Case("less", ONE + "1 commit 4; 1 commit 5; 3 told 4", {}, VIOLATED, ("stale-offset",)),
    Case("nothing any more", ONE + "1 commit 4; 3 told -1", {}, VIOLATED, ("offset-lost",)),
    Case("too early", ONE + "3 told 4; 1 commit 4", {}, VIOLATED, ("unknown-offset",)),
    Case("under way", ONE + "1> commit 4; 3 told 4; 1< commit 4", {}, HOLDS),
    Case("under way, not yet", ONE + "1> commit 4; 3 told -1; 1< commit 4", {}, HOLDS),
    Case(
        "under way, and back",
        ONE + "1> commit 4; 3 told 4; 3 told -1; 1< commit 4",
        {},
        VIOLATED,
        ("stale-offset",),
    ),
    Case("of two, the one", BOTH + "3 told 4; 3 told 4", {}, HOLDS),
    Case("of two, the other", BOTH + "3 told 5; 3 told 5", {}, HOLDS),
    Case(
        "of two, one after the other", BOTH + "3 told 5; 3 told 4", {}, VIOLATED, ("stale-offset",)
    ),
    Case(
        "5, 4, 5, 4",
        BOTH + "3 told 5; 3 told 4; 3 told 5; 3 told 4",
        {},
        VIOLATED,
        ("stale-offset",),
    ),
    Case(
        "of two, both in their time",
        ONE + "1> commit 4; 2> commit 5; 3 told 5; 3 told 4; 1< commit 4; 2< commit 5; 3 told 4",
        {},
        HOLDS,
    ),
    Case(
        "no answer, and then it counts",
        ONE + "1 commit 2; 1 commit 3?; 3 told 2; 3 told 3",
        {},
        HOLDS,
    ),
    Case(
        "no answer, counted, and not",
        ONE + "1 commit 2; 1 commit 3?; 3 told 3; 3 told 2",
        {},
        VIOLATED,
        ("stale-offset",),
    ),
    Case(
        "no answer, and committed again",
        ONE + "1 commit 2; 1 commit 3?; 3 told 3; 1 commit 2; 3 told 2",
        {},
        HOLDS,
    ),
    Case(
        "a commit that failed",
        ONE + "1 commit 2; 1 commit 3!; 3 told 3",
        {},
        VIOLATED,
        ("unknown-offset",),
    ),
    Case(
        "of another partition", ONE + "1 commit 2; u: 1 commit 3; u: 3 told 3; 3 told 2", {}, HOLDS
    ),
    Case(
        "of another partition, exchanged",
        ONE + "1 commit 2; u: 1 commit 3; 3 told 3",
        {},
        VIOLATED,
        ("unknown-offset",),
    ),
    Case(
        "a transaction's", ONE + "0 begin T1; 0 offsets 4 T1; 0 end commit T1; 3 told 4", {}, HOLDS
    ),
    Case(
        "a transaction's, lost",
        ONE + "0 begin T1; 0 offsets 4 T1; 0 end commit T1; 3 told -1",
        {},
        VIOLATED,
        ("offset-lost",),
    ),
    Case(
        "a transaction's that was aborted",
        ONE + "0 begin T1; 0 offsets 4 T1; 0 end abort T1; 3 told -1",
        {},
        HOLDS,
    ),
    Case(
        "a transaction's that was aborted, told",
        ONE + "0 begin T1; 0 offsets 4 T1; 0 end abort T1; 3 told 4",
        {},
        VIOLATED,
        ("torn-offsets", "unknown-offset"),
    ),
    Case(
        "a transaction's without an answer",
        ONE + "0 begin T1; 0 offsets 4 T1; 0 end commit T1?; 3 told -1; 3 told 4",
        {},
        HOLDS,
    ),
    Case(
        "what nobody sent",
        ONE + "0 begin T1; 0 offsets 4 T1; 0 end commit T1; 3 told 6",
        {},
        VIOLATED,
        ("unknown-offset",),
    ),
    Case(
        "offsets that were not answered",
        ONE + "0 begin T1; 0 offsets 4 T1?; 0 end commit T1; 3 told -1",
        {},
        HOLDS,
    ),
    Case(
        "late requests",
        ONE + "0 begin T1; 0 offsets 4 T1; 0 end abort T1; 3 told 4",
        of(transactions=True, late_requests=True),
        HOLDS,
    ),
]
GROUP_LOGS = [
    Case("as it was committed", GROUP + "1 commit 3 as=a", {}, HOLDS, (), "1 has t; a commits 3"),
    Case(
        "another offset",
        GROUP + "1 commit 3 as=a",
        {},
        VIOLATED,
        ("altered-commit",),
        "1 has t; a commits 1000003",
    ),
    Case(
        "another offset, less",
        GROUP + "1 commit 3 as=a",
        {},
        VIOLATED,
        ("altered-commit",),
        "1 has t; a commits 2",
    ),
    Case(
        "another offset, of no answer",
        GROUP + "1 commit 3 as=a?",
        {},
        VIOLATED,
        ("altered-commit",),
        "1 has t; a commits 2",
    ),
    Case("not written", GROUP + "1 commit 3 as=a", {}, VIOLATED, ("unwritten-commit",), "1 has t"),
    Case("not written, and cleaned", GROUP + "1 commit 3 as=a", {}, HOLDS, (), "cleaned; 1 has t"),
    Case(
        "not written, of no answer", GROUP + "1 commit 3 as=a?; 3 told -1", {}, HOLDS, (), "1 has t"
    ),
    Case(
        "not written, of no answer, told",
        GROUP + "1 commit 3 as=a?; 3 told 3",
        {},
        VIOLATED,
        ("unknown-offset",),
        "1 has t",
    ),
    Case(
        "gave up, and never revoked",
        GROUP + "2 given as=2; 2 poll from=0 0:10; 1 poll",
        {},
        VIOLATED,
        ("double-ownership",),
        "1 has t; 1 has; 2 has t",
    ),
    Case(
        "gave up, and revoked late",
        GROUP + "2 given as=2; 1 revoked",
        {},
        VIOLATED,
        ("double-ownership",),
        "1 has t; 1 has; 2 has t",
    ),
    Case(
        "gave up, and heard late of a loss",
        GROUP + "2 given as=2; 1 lost",
        {},
        VIOLATED,
        ("double-ownership",),
        "1 has t; 1 has; 2 has t",
    ),
    Case(
        "gave up, and revoked in time",
        GROUP + "1 revoked; 2 given as=2",
        {},
        HOLDS,
        (),
        "1 has t; 1 has; 2 has t",
    ),
    Case(
        "removed, and reads on",
        GROUP + "2 given as=2; 2 poll from=0 0:10; 1 poll",
        {},
        HOLDS,
        (),
        "1 has t; 1 gone; 2 has t",
    ),
    Case(
        "removed, and revoked late",
        GROUP + "2 given as=2; 1 revoked",
        {},
        HOLDS,
        (),
        "1 has t; 1 gone; 2 has t",
    ),
    Case("nobody knows", GROUP + "2 given as=2; 1 revoked", {}, UNKNOWN, ("overlap",)),
    Case("left", GROUP + "1 leave; 2 given as=2", {}, HOLDS, (), "1 has t; 1 gone; 2 has t"),
]
PLAIN = [
    Case("a stale read", "0 send 7@0; 1 poll from=0; 2 poll 0:7", {}, VIOLATED, ("stale-read",)),
    Case(
        "a stale read, and the leader moved", "0 send 7@0; 1 poll from=0; 2 poll 0:7", MOVED, HOLDS
    ),
    Case(
        "two values at one offset",
        "0 send 7@0; 1 send 8@0; 2 poll 0:8",
        STOPPED,
        VIOLATED,
        ("inconsistent-offsets", "lost-write"),
    ),
    Case("a copy", "0 send 7@0; 1 poll 0:7 1:7", {}, VIOLATED, ("duplicate",)),
    Case("a copy, at least once", "0 send 7@0; 1 poll 0:7 1:7", of(idempotence=False), HOLDS),
    Case("what failed is read", "0 send 7!; 1 poll 0:7", {}, VIOLATED, ("G1a",)),
    Case("what nobody sent is read", "0 send 7@0; 1 poll 0:7 1:9", {}, VIOLATED, ("phantom",)),
    Case("read before it was sent", "1 poll 0:7; 0 send 7@0", {}, VIOLATED, ("future-read",)),
    Case("sent at once", "0> send 7; 1 send 8@0; 0< send 7@1; 2 poll 0:8 1:7", {}, HOLDS),
    Case(
        "sent in turn, placed the other way",
        "0 send 7@1; 1 send 8@0; 2 poll 0:8 1:7",
        {},
        VIOLATED,
        ("append-order",),
    ),
    Case(
        "an end that goes back",
        "0 send 7@0; 1 latest 1; 2 latest 0; 3 poll 0:7",
        {},
        VIOLATED,
        ("stale-read",),
    ),
]
CASES = {
    f"{kind}: {each.name}": each
    for kind, cases in (
        ("tail", TAILS),
        ("position", POSITIONS),
        ("offset", OFFSETS),
        ("group", GROUP_LOGS),
        ("plain", PLAIN),
    )
    for each in cases
}


def judged(case: Case, folder: Path) -> Report:
    history = made(case.text)
    if not case.log:
        return check_history(history, **case.asked)
    beside = folder / grouplog.GROUPS
    beside.write_text("\n".join(records(case.log)))
    configuration = configuration_in(history)
    return check_log(
        history,
        promised(configuration),
        configuration,
        gaps=logs.gaps_in(history, configuration),
        groups=grouplog.read(beside),
    )


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_right(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found = judged(case, tmp_path)
    assert found.verdict == case.verdict, found
    forbidden = {each.name for each in found.anomalies if not each.allowed}
    assert forbidden == set(case.forbidden), found
    if case.verdict == VIOLATED:
        certificates = [each.certificate for each in found.parts if each.certificate is not None]
        assert certificates and 1 <= len(certificates[0].operations) <= 2
    if case.verdict == UNKNOWN:
        assert any(each.reason for each in found.parts), found


NO_COLUMNS = (*TRANSACTION_OPERATIONS[:4], "latest", "earliest")


@pytest.mark.parametrize("name", CASES)
def test_columns_give_the_same_answer(name: str, tmp_path: Path) -> None:
    """With all that is said of it, where columns have a place for all that is done."""
    case = CASES[name]
    history = made(case.text)
    if case.log or any(each.f in NO_COLUMNS for each in history.operations):
        return
    path = tmp_path / "history.parquet"
    path.write_bytes(write(history))
    rows, asked = rows_of(path), dict(case.asked)
    configuration = asked.pop("configuration", None) or configuration_in(rows)
    assert configuration == case.asked.get("configuration", configuration_in(history))
    promise = promised(configuration, asked.pop("envelope", Envelope()))
    gaps = logs.gaps_in(rows, configuration)
    assert check_log(rows, promise, configuration, gaps=gaps, **asked) == judged(case, tmp_path)


def test_there_are_many_and_of_every_verdict() -> None:
    assert len(CASES) >= 120
    counts = [sum(each.verdict == v for each in CASES.values()) for v in (HOLDS, VIOLATED, UNKNOWN)]
    assert min(counts) >= 10, counts


# -- Each check is seen to fail


def _nothing(*_: Any) -> None:
    return None


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "unread is no matter": (
        assessment.Assessment,
        "_unread",
        lambda self: np.zeros(self.found.batch.segments, np.int64),
    ),
    "what is lost costs no level": (assessment.Assessment, "_cap_lost", _nothing),
    "all readers began at the beginning": (
        anomalies_values,
        "_begun",
        lambda batch: np.zeros(batch.segments, np.int64),
    ),
    "any record of a compacted log may be gone": (
        version_order,
        "_note_followed",
        lambda order, *_: order.vanished.fill(True),
    ),
    "positions are ignored": (Fetches, "_stands", _nothing),
    "positions count across rebalances": (
        columns,
        "_stood",
        lambda rows, reads, apart: rows.to[reads],
    ),
    "assignments keep all sessions": (
        columns,
        "_sessions",
        lambda rows, reads: (rows.process[reads], np.zeros(len(reads), bool)),
    ),
    "each answer by itself": (progress, "unordered", lambda *_: []),
    "offsets of the log are ignored": (coordinated, "_altered", lambda *_: []),
    "no group without callbacks": (members, "GROUP_OPERATIONS", MEMBER_OPERATIONS),
    "a late loss excuses": (ownership, "_OF_LOST", {None: "zombie-overlap"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_checker_that_errs_gives_a_wrong_answer(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    wrong = []
    for name, case in CASES.items():
        found = judged(case, tmp_path)
        forbidden = {each.name for each in found.anomalies if not each.allowed}
        if (found.verdict, forbidden) != (case.verdict, set(case.forbidden)):
            wrong.append(name)
    assert wrong
