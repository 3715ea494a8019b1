"""Committed offsets as a register: planted disorder, and agreement with every order tried."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kraftcheck.traces.checkers import offset_order, progress
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.members import members_of
from kraftcheck.traces.checkers.progress import committed
from kraftcheck.traces.checkers.search import Limits
from kraftcheck.traces.history import INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole
from tests.traces.checkers.member_worlds import Answer, Commit, in_some_order

EVER = 1 << 62


def register(*said: tuple[str, int, int | None, int]) -> History:
    """(commit or told, begin, end, offset): end None: a commit that was not answered."""
    operations = []
    for at, (what, begin, end, offset) in enumerate(sorted(said, key=lambda each: each[1])):
        offsets = ((("t", offset)),)
        is_commit = what == "commit"
        operations.append(
            Operation(
                index=at,
                process=at,
                group=at,
                invoked=begin,
                completed=end,
                f="commit-offsets" if is_commit else "committed",
                argument=("g", offsets) if is_commit else "g",
                result=None if is_commit else offsets,
                outcome=INDETERMINATE if end is None else OK,
            )
        )
    read = Operation(
        index=len(said),
        process=99,
        group=99,
        f="fetch",
        key="t",
        result=(),
        invoked=EVER - 2,
        completed=EVER - 1,
        outcome=OK,
    )
    return whole((*operations, read))


BOTH = (("commit", 0, 9, 4), ("commit", 1, 8, 5))
IN_ORDER = {
    "one after the other": (("commit", 0, 1, 4), ("told", 2, 3, 4), ("commit", 4, 5, 5)),
    "two at once, one of them last": (*BOTH, ("told", 10, 11, 4), ("told", 12, 13, 4)),
    "two at once, both seen": (*BOTH, ("told", 2, 3, 5), ("told", 4, 5, 4), ("told", 10, 11, 4)),
    "one that was not answered, late": (
        ("commit", 0, 1, 2),
        ("commit", 2, None, 3),
        *(("told", 4, 5, 2), ("told", 6, 7, 3), ("told", 8, 9, 3)),
    ),
    "the same offset again": (
        ("commit", 0, 1, 2),
        ("told", 2, 3, 2),
        ("commit", 4, 5, 3),
        ("commit", 6, 7, 2),
        ("told", 8, 9, 2),
    ),
    "one that was replaced as it was asked for": (
        *(("commit", 0, 5, 4), ("commit", 6, 10, 5)),
        *(("told", 10, 11, 4), ("told", 12, 13, 5)),
    ),
    "nothing, then something": (("told", 0, 1, -1), ("commit", 2, 3, 2), ("told", 4, 5, 2)),
}
IN_NO_ORDER = {
    "two at once, back and forth": (*BOTH, ("told", 10, 11, 5), ("told", 12, 13, 4)),
    "there and back and there": (
        *BOTH,
        *(("told", 2, 3, 5), ("told", 4, 5, 4), ("told", 6, 7, 5)),
    ),
    "one that was not answered, and then not": (
        *(("commit", 0, 1, 2), ("commit", 2, None, 3), ("told", 4, 5, 3), ("told", 6, 7, 2)),
    ),
    "nothing again": (("commit", 0, None, 2), ("told", 2, 3, 2), ("told", 4, 5, -1)),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_an_order_explains_holds(name: str) -> None:
    found = check_history(register(*IN_ORDER[name]))
    assert found.holds, found


@pytest.mark.parametrize("name", IN_NO_ORDER)
def test_what_no_order_explains_is_stale(name: str) -> None:
    found = check_history(register(*IN_NO_ORDER[name]))
    assert found.verdict == "violated"
    assert [each.name for each in found.anomalies] == ["stale-offset"]
    (certificate,) = found.anomalies[0].certificates
    assert 1 <= len(certificate.operations) <= 2 and "no order of its commits" in str(found)


def test_what_is_not_found_out_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_order, "LIMITS", Limits(configurations=1))
    said = [("commit", at, 50 + at, at % 3) for at in range(12)]
    found = check_history(register(*said, ("told", 20, 90, 1), ("told", 21, 91, 2)))
    assert (found.verdict, [each.name for each in found.anomalies]) == ("unknown", ["open-offset"])
    assert "was not found out" in str(found)
    assert any("took too long" in str(each.reason) for each in found.parts)


def drawn(draw: random.Random) -> Iterator[tuple[str, int, int | None, int]]:
    times = draw.sample(range(100), 2 * 8)
    for at in range(draw.randint(3, 8)):
        begin, end = sorted(times[2 * at : 2 * at + 2])
        is_commit = draw.random() < 0.5
        open_ = is_commit and draw.random() < 0.25
        offset = draw.randint(1, 3) if is_commit or draw.random() < 0.9 else -1
        yield "commit" if is_commit else "told", begin, None if open_ else end, offset


def agrees(seed: int) -> bool | None:
    """Whether an order explains a drawn history; None: some answer has no commit by itself."""
    said = list(drawn(random.Random(seed)))
    members = members_of(register(*said))
    assert members is not None
    found = {each.name: each for each in committed(members) if each.times}
    alone = progress.alone(members).right.all()
    commits = [
        Commit(0, "t", offset, begin, EVER if end is None else end)
        for what, begin, end, offset in said
        if what == "commit"
    ]
    answers = [
        Answer(offset, begin, end or 0) for what, begin, end, offset in said if what == "told"
    ]
    expected = in_some_order(commits, answers)
    assert (not found) == expected, (seed, said)
    return expected if alone else None


@pytest.mark.slow
def test_agrees_with_every_order_tried() -> None:
    found = [agrees(seed) for seed in range(3000)]
    assert found.count(True) > 400 and found.count(False) > 15, found


@pytest.mark.parametrize("fault", ["nothing matters", "nobody looks"])
def test_a_wrong_checker_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "nobody looks":
        monkeypatch.setattr(progress, "unordered", lambda members, judged: [])
    else:
        matters = offset_order._matters
        monkeypatch.setattr(offset_order, "_matters", lambda *given: matters(*given) & False)
    with pytest.raises(AssertionError):
        for seed in range(3000):
            agrees(seed)
