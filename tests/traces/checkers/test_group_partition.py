"""A partition as a group reads it: what simulated runs tell, judged as recordings of Kafka are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kraftcheck.traces.checkers.group_partition import GroupPartition
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from kraftcheck.traces.history import Operation

Told = tuple[str, int] | tuple[str, int, int | None] | tuple[str, int, int | None, int | None]
"""What happened, of which client; an argument and a result. Each is a moment after the last."""

HANDED_OVER: list[Told] = [
    ("log-given", 1),
    ("assigned", 1),
    ("told", 1, None, -1),
    ("read", 1, 0, 5),
    ("commit", 1, 5),
    ("revoked", 1),
    ("log-taken", 1),
    ("log-given", 2),
    ("assigned", 2),
    ("told", 2, None, 5),
    ("read", 2, 5, 7),
]


def history(told: Sequence[Told]) -> list[Operation]:
    found = []
    for at, each in enumerate(told):
        f, process, argument, result = (*each, None, None)[:4]
        found.append(
            Operation(
                index=at,
                process=process,
                f=f,
                key="3",
                argument=argument,
                result=result,
                invoked=10 * at,
                completed=10 * at,
                outcome="ok",
                group=at,
            )
        )
    return found


def changed(at: int, *told: Told) -> list[Told]:
    return [*HANDED_OVER[:at], *told, *HANDED_OVER[at + 1 :]]


REMOVED: list[Told] = [
    ("log-given", 1),
    ("assigned", 1),
    ("log-removed", 1),
    ("log-given", 2),
    ("assigned", 2),
]
LATE: list[Told] = [
    *[("log-given", 1), ("log-removed", 1), ("log-given", 2), ("assigned", 2)],
    *[("assigned", 1), ("lost", 1), ("revoked", 2)],
]
ASKED: list[Told] = [("log-given", 1), ("assigned", 1), ("log-asked", 1)]
HEIR: list[Told] = [("log-given", 2), ("assigned", 2)]

GOOD: dict[str, list[Told]] = {
    "handed over": HANDED_OVER,
    "removed, and goes on until it is told": [*REMOVED, ("lost", 1)],
    "removed, and gives up by itself before it is told": [*REMOVED, ("revoked", 1)],
    "removed before it learns what it was given": LATE,
    "removed before it learns what it was given, and given it again": [
        *[*LATE, ("log-taken", 2)],
        *REMOVED[:2],
    ],
    "left out by a generation, and removed": [*ASKED, ("log-removed", 1), *HEIR],
    "left out by a generation that it missed, and given it again": [
        *ASKED,
        *[("log-given", 1), ("log-removed", 1)],
        *HEIR,
    ],
    "only the log is told": [("log-given", 1), ("log-taken", 1), ("log-given", 2)],
}


@pytest.mark.parametrize("told", GOOD.values(), ids=GOOD)
def test_what_groups_promise_holds(told: list[Told]) -> None:
    assert judged(told) == (HOLDS, "")


BAD: dict[str, list[list[Told]]] = {
    "server-double-owner": [changed(6, ("read", 1, 5, 5)), [("log-given", 1), ("log-given", 2)]],
    "double-ownership": [
        changed(5, ("read", 1, 5, 5)),
        [*ASKED, *HEIR],
        [*ASKED, *HEIR, ("log-removed", 1), ("lost", 1)],
    ],
    "unwritten-assignment": [
        [*HANDED_OVER, ("assigned", 4)],
        [("assigned", 1), ("lost", 1), ("log-given", 1)],
    ],
    "offset-lost": [changed(9, ("told", 2, None, -1))],
    "unknown-offset": [changed(9, ("told", 2, None, 4))],
    "stale-offset": [
        [*HANDED_OVER, ("commit", 2, 7), ("told", 2, None, 5)],
    ],
    "wrong-start": [[*changed(3, ("read", 1, 0, 6))[:10], ("read", 2, 6, 7)]],
    "early-start": [changed(10, ("read", 2, 3, 7))],
    "zombie-commit-offsets": [
        [*REMOVED, ("lost", 1), ("commit", 1, 1), ("told", 2, None, 1)],
    ],
}
"""By anomaly, histories that have it, and are refused for it."""


@pytest.mark.parametrize(
    ("name", "told"), [(name, each) for name, found in BAD.items() for each in found]
)
def test_each_anomaly_is_seen(name: str, told: list[Told]) -> None:
    assert judged(told) == (VIOLATED, name)


def judged(told: Sequence[Told]) -> tuple[str, str]:
    found = GroupPartition().judged(history(told))
    assert found.key == "3"
    return found.verdict, found.certificate.kind if found.certificate else ""


def test_one_look_at_all_says_what_each_alone_says() -> None:
    worlds = [*GOOD.values(), *[each for found in BAD.values() for each in found]]
    objects = [history(each) for each in [*worlds, *reversed(worlds)]]
    model = GroupPartition()
    assert model.judged_all(objects) == [model.judged(each) for each in objects]
