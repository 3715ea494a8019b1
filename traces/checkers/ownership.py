"""Did two members have a partition at once, and did one read what it did not have?

    overlaps(members, log)   one member was given a partition while another one still had it
    unowned(members)         a poll showed records of a partition that the member did not have
    stuck(members)           nobody had a partition for too long

A coordinator gives a partition on when its member has said that it gave it up, which is when the
callback was over, or when the member has been removed [KIP-848, KIP-429]. A member that was removed
goes on until it hears of it: nothing can be promised of that time. Which of the two it was, the
group's log says (coordinated.py); without it, a member that was told that it lost the partition had
been removed, one that died or was closed may have been, and of one that gave it up orderly nobody
knows. A member that was told so may also be one of a group that goes back to the classic protocol,
and be in its next generation: that one was not removed, and had not been asked (Z181).

    double-ownership   the first member had given it up by what the log says, and not by its own
                       (it did so later, or never); or it was not asked
    overlap            it gave it up, and nobody knows whether it had been removed
    zombie-overlap     it had been removed, was told that it lost it, died or left
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from kraftcheck.traces.checkers.columns import Flags, Ints, indices
from kraftcheck.traces.checkers.coordinated import GAVE_UP, REMOVED, UNASKED, GroupLog, decided
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.members import GIVEN_UP, NONE, Members

_OVERLAPS: Final = ("double-ownership", "overlap", "zombie-overlap")
_OF_ORDERLY: Final = {
    GAVE_UP: "double-ownership",
    UNASKED: "double-ownership",
    REMOVED: "zombie-overlap",
    None: "overlap",
}
_OF_LOST: Final = _OF_ORDERLY | {None: "zombie-overlap"}
"""By what the log says of the first member, where it gave the partition up and where it did not."""
_BEFORE: Final = -(1 << 62)
"""Before all times."""


def overlaps(m: Members, log: GroupLog | None) -> Iterator[Broken]:
    """double-ownership, overlap and zombie-overlap."""
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in _OVERLAPS}
    for orderly in (False, True):
        said = _OF_ORDERLY if orderly else _OF_LOST
        for first, second in _pairs(m, (m.spans.how == GIVEN_UP) == orderly):
            how = None if log is None else decided(log, m, first, second)
            pairs[said.get(how, said[None])].append((first, second))
    for name, found in pairs.items():
        yield Broken(name, found, partial(_overlap, m))


def _pairs(m: Members, among: Flags) -> list[tuple[int, int]]:
    """Each span that began while one of these had its place, with the last of them to end."""
    spans = m.spans
    order = np.lexsort((spans.begin, spans.place))
    place, begin = spans.place[order], spans.begin[order]
    end = np.where(among[order], spans.end[order], _BEFORE)
    earlier = _furthest_before(place, end)
    mine = indices((earlier != NONE) & (end[earlier] > begin))
    return list(zip(order[earlier[mine]].tolist(), order[mine].tolist(), strict=True))


def _furthest_before(place: Ints, end: Ints) -> Ints:
    """Of each row, that one before it at its place which ends last, or NONE."""
    if not len(place):
        return np.empty(0, np.int64)
    # Places are kept apart by more than there are ends.
    rank = np.unique(end, return_inverse=True)[1].reshape(-1)
    lifted = place * (len(place) + 1) + rank
    running = np.maximum.accumulate(lifted)
    at = np.where(lifted == running, np.arange(len(place)), 0)
    latest = np.maximum.accumulate(at)
    found = np.full(len(place), NONE)
    found[1:] = np.where(place[1:] == place[:-1], latest[:-1], NONE)
    return found


def _overlap(m: Members, pair: tuple[int, int]) -> Evidence:
    (one, other), spans = pair, m.spans
    group, key = m.places[spans.place[other]]
    who, whom = spans.process[other], spans.process[one]
    how = "gave it up" if spans.how[one] == GIVEN_UP else "had heard that it lost it, or was gone"
    said = f"process {who} was given {key} of group {group} before process {whom}, which had it,"
    return (spans.first[one], spans.first[other]), f"{said} {how}", key


def stuck(m: Members, within: int) -> Broken:
    """List partitions that nobody had for longer than `within`, in the history's unit.

    A member of the group that wanted the partition was there all that time.
    """
    found: list[tuple[int, int, int]] = []
    lives, spans = m.lives, m.spans
    for life in range(len(lives.place)):
        begin, end = int(lives.begin[life]), int(lives.end[life])
        if end - begin <= within:
            continue
        mine = indices(spans.place == lives.place[life])
        mine = mine[np.argsort(spans.begin[mine], kind="stable")]
        ends = np.maximum.accumulate(np.concatenate(([begin], spans.end[mine])))
        begins = np.concatenate((spans.begin[mine], [end]))
        gap = np.minimum(begins, end) - np.maximum(ends, begin)
        longest = int(np.argmax(gap))
        if gap[longest] > within:
            found.append((life, int(ends[longest]), int(gap[longest])))
    # Each of several members tells of the same time.
    once = list(
        {(int(lives.place[life]), since): (life, gap) for life, since, gap in found}.values()
    )
    return Broken("stuck-partition", once, partial(_stuck, m, within))


def _stuck(m: Members, within: int, found: tuple[int, int]) -> Evidence:
    life, gap = found
    group, key = m.places[m.lives.place[life]]
    said = f"no member of group {group} had {key} for {gap / within:.1f} times as long as a"
    said += " rebalance may take, though a member that wants it was there"
    return (m.lives.operation[life],), said, key


def unowned(m: Members) -> Broken:
    """Records that were handed to a member without the partition."""
    rows = indices((m.polled.span == NONE) & (m.polled.shown > 0))
    return Broken("unowned-poll", rows, partial(_unowned, m))


def _unowned(m: Members, row: int) -> Evidence:
    polled = m.polled
    group, key = m.places[polled.place[row]]
    said = f"a poll of process {polled.process[row]} showed {key} from {polled.before[row]} on,"
    said += f" which it did not have then as a member of group {group}"
    return (polled.operation[row],), said, key
