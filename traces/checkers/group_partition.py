"""A partition as a consumer group reads it: whose it is, and what is committed of it.

Simulated runs of groups tell of it (reference/kit/membership.py). They are judged by what judges
the recordings of real consumers (groups.py); here only the words are translated.

Of a client: `assigned`, `revoked`, `lost`; `read`, from its argument up to its result; `commit`,
its argument; `told`, that its result is committed (-1: nothing is). Of the coordinator's log, of
the client that it names: `log-given`, `log-taken` (it said that it gave it up), `log-asked` (a
generation leaves it out, so that it gives it up when it joins the next one), `log-removed` (it is
no member).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, Literal

from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces.checkers.coordinated import group_log, server_owners
from kraftcheck.traces.checkers.findings import Broken
from kraftcheck.traces.checkers.groups import broken, judged
from kraftcheck.traces.checkers.members import members_of
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from kraftcheck.traces.grouplog import Entry
from kraftcheck.traces.history import ASSIGNED, LOST, REVOKED, History, Operation

GIVEN, TAKEN, ASKED, REMOVED = "log-given", "log-taken", "log-asked", "log-removed"
OF_LOG: Final = (GIVEN, TAKEN, ASKED, REMOVED)
_WHAT: Final[dict[str, Literal["member", "generation", "removed"]]] = {
    **{GIVEN: "member", TAKEN: "member"},
    **{ASKED: "generation", REMOVED: "removed"},
}
"""As which records the log has them (traces/grouplog.py)."""
_CALLBACKS: Final = {"assigned": ASSIGNED, "revoked": REVOKED, "lost": LOST}
RESET: Final = "earliest"
PROMISE: Final = promised(Configuration(consumers="listen", reset=RESET))


class GroupPartition(Model):
    """It is no sequential object: its clients need not agree on an order of what they do."""

    name = "group-partition"
    verbs = (*_CALLBACKS, "read", "commit", "told", *OF_LOG)

    def judged(self, operations: Sequence[Operation]) -> Verdict:
        """By members' callbacks, reads and commits, and by the coordinator's log where told."""
        key = operations[0].key
        log, told = _parted(operations, key or "")
        entries = group_log(log)
        members = members_of(_history(told))
        if members is None:
            both = [*server_owners(entries).certificates()]
            return _verdict(key, VIOLATED if both else HOLDS, both)
        found = judged(members, PROMISE, reset=RESET, log=entries if log else None)
        guilty = [each.certificates for each in found.anomalies if not each.allowed]
        return _verdict(key, found.verdict, [*chain.from_iterable(guilty)], found.reason)

    def judged_all(self, objects: Sequence[Sequence[Operation]]) -> list[Verdict]:
        """As `judged` of each, at the cost of one look at all that hold."""
        suspects = _suspects(objects)
        return [
            self.judged(each) if at in suspects else _verdict(each[0].key, HOLDS, [])
            for at, each in enumerate(objects)
        ]


def _history(operations: Iterable[Operation]) -> History:
    return History(source="", format="", time_unit="us", operations=tuple(operations))


def _suspects(objects: Sequence[Sequence[Operation]]) -> set[int]:
    """Those that one look at all does not clear.

    Each is a group of its own, with a partition of its own and other processes, at another time.
    """
    log: list[Entry] = []
    told: list[Operation] = []
    processes, now = 0, 0
    for at, operations in enumerate(objects):
        entries, own = _parted(operations, str(at))
        log += [replace(each, offset=len(log) + n) for n, each in enumerate(entries)]
        for each in own:
            completed = None if each.completed is None else each.completed + now
            moved = replace(
                each,
                index=len(told),
                process=each.process + processes,
                invoked=each.invoked + now,
                completed=completed,
            )
            told.append(moved)
        processes += max(each.process for each in operations) + 1
        now += max(max(each.invoked, each.completed or 0) for each in operations) + 1
    members = members_of(_history(told))
    found: list[Broken]
    if members is None:
        found = [server_owners(group_log(log))]
    else:
        found = broken(members, RESET, log=group_log(log))
    rows = chain.from_iterable(map(b.say, b.rows) for b in found if not PROMISE.allows(b.name))
    return {int(key or 0) for _, _, key in rows}


def _verdict(
    key: str | None, verdict: str, found: list[Certificate], reason: str | None = None
) -> Verdict:
    first = replace(found[0], key=key) if verdict == VIOLATED else None
    reason = reason if verdict == UNKNOWN else None
    return Verdict(
        verdict=verdict, model=GroupPartition.name, key=key, certificate=first, reason=reason
    )


def _parted(operations: Sequence[Operation], name: str) -> tuple[list[Entry], list[Operation]]:
    """The log, and what clients tell, each with the words that their checker knows.

    name: of the group, and of its partition.

    A callback that gives the partition has the mark with which the log gave it last: a client
    learns of what is in the log. The next time that it is given has another mark, but for who has
    it still, and has missed that it was taken meanwhile. Who has it in the end has it until then.
    """
    has_log = any(each.f in OF_LOG for each in operations)
    times: Counter[int] = Counter()
    still: set[int] = set()
    given: dict[int, Operation] = {}
    end = max(max(each.invoked, each.completed or 0) for each in operations) + 1
    present: dict[str, tuple[str, ...]] = {}
    log: list[Entry] = []
    told: list[Operation] = []
    for each in operations:
        times[each.process] += each.f == GIVEN and each.process not in still
        if each.f == "assigned":
            still.add(each.process)
        elif each.f in _CALLBACKS:
            still.discard(each.process)
        mark = f"{each.process}:{times[each.process]}"
        if each.f in OF_LOG:
            present[mark] = (name,) if each.f == GIVEN else ()
            if each.f == REMOVED:
                del present[mark]
            log.append(
                Entry(
                    partition=0,
                    offset=len(log),
                    what=_WHAT[each.f],
                    group=name,
                    member=mark,
                    has=present.get(mark, ()),
                    all=dict(present),
                )
            )
        elif each.f in _CALLBACKS:
            argument = (name, (name,))
            of_log = mark if has_log else None
            f = _CALLBACKS[each.f]
            told.append(replace(each, f=f, key=None, argument=argument, result=None, mark=of_log))
            given[each.process] = told[-1]
        elif each.f == "read":
            read = tuple((at, at) for at in range(each.argument, each.result))
            told.append(replace(each, f="fetch", key=name, result=read, to=each.result))
        elif each.f == "commit":
            sent = (name, ((name, each.argument),))
            told.append(replace(each, f="commit-offsets", key=None, argument=sent, result=None))
        else:
            result = ((name, each.result),)
            told.append(replace(each, f="committed", key=None, argument=name, result=result))
    told += [
        replace(each, f=LOST, invoked=end, completed=end)
        for each in [given[process] for process in sorted(still)]
    ]
    return log, told
