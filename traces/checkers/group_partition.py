"""A partition as a consumer group reads it: whose it is, and what is committed of it.

Simulated runs of groups tell of it (reference/kit/membership.py). They are judged by what judges
the recordings of real consumers (groups.py); here only the words are translated.

Of a client: `partitions-assigned`, `-revoked`, `-lost`; `fetch`, from its argument up to its
result; `commit-offsets`, its argument; `committed`, its result (-1: none is). Of the coordinator's
log, of the client that it names: `log-given`, `log-taken` (it said that it gave it up), `log-asked`
(a generation leaves it out, so that it gives it up when it joins the next one), `log-removed` (it
is no member).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final, Literal

from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces.checkers.coordinated import group_log, server_owners
from kraftcheck.traces.checkers.groups import judged
from kraftcheck.traces.checkers.members import members_of
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from kraftcheck.traces.grouplog import Entry
from kraftcheck.traces.history import ASSIGNED, CALLBACKS, History, Operation

GIVEN, TAKEN, ASKED, REMOVED = "log-given", "log-taken", "log-asked", "log-removed"
OF_LOG: Final = (GIVEN, TAKEN, ASKED, REMOVED)
_WHAT: Final[dict[str, Literal["member", "generation", "removed"]]] = {
    **{GIVEN: "member", TAKEN: "member"},
    **{ASKED: "generation", REMOVED: "removed"},
}
"""As which records the log has them (traces/grouplog.py)."""
GROUP: Final = "group"
PROMISE: Final = promised(Configuration(consumers="listen", reset="earliest"))


class GroupPartition(Model):
    """It is no sequential object: its clients need not agree on an order of what they do."""

    name = "group-partition"
    verbs = (*CALLBACKS, "fetch", "commit-offsets", "committed", *OF_LOG)

    def judged(self, operations: Sequence[Operation]) -> Verdict:
        """By members' callbacks, reads and commits, and by the coordinator's log where told."""
        key = operations[0].key
        log, told = _parted(operations)
        history = History(source="", format="", time_unit="us", operations=told)
        members = members_of(history)
        entries = group_log(log)
        if members is None:
            both = [*server_owners(entries).certificates()]
            return _verdict(key, VIOLATED if both else HOLDS, both)
        found = judged(members, PROMISE, reset="earliest", log=entries if log else None)
        guilty = [each.certificates for each in found.anomalies if not each.allowed]
        return _verdict(key, found.verdict, [*chain.from_iterable(guilty)], found.reason)


def _verdict(
    key: str | None, verdict: str, found: list[Certificate], reason: str | None = None
) -> Verdict:
    first = replace(found[0], key=key) if verdict == VIOLATED else None
    reason = reason if verdict == UNKNOWN else None
    return Verdict(
        verdict=verdict, model=GroupPartition.name, key=key, certificate=first, reason=reason
    )


def _parted(operations: Sequence[Operation]) -> tuple[list[Entry], tuple[Operation, ...]]:
    """The log, and what clients tell, each with the words that their checker knows.

    A callback that gives the partition has the mark with which the log gave it last: a client
    learns of what is in the log. The next time that it is given has another mark, but for who has
    it still, and has missed that it was taken meanwhile.
    """
    has_log = any(each.f in OF_LOG for each in operations)
    times: Counter[int] = Counter()
    still: set[int] = set()
    present: dict[str, tuple[str, ...]] = {}
    log: list[Entry] = []
    told: list[Operation] = []
    for each in operations:
        times[each.process] += each.f == GIVEN and each.process not in still
        if each.f == ASSIGNED:
            still.add(each.process)
        elif each.f in CALLBACKS:
            still.discard(each.process)
        mark = f"{each.process}:{times[each.process]}"
        if each.f in OF_LOG:
            present[mark] = (each.key or "",) if each.f == GIVEN else ()
            if each.f == REMOVED:
                del present[mark]
            log.append(
                Entry(
                    partition=0,
                    offset=len(log),
                    what=_WHAT[each.f],
                    group=GROUP,
                    member=mark,
                    has=present.get(mark, ()),
                    all=dict(present),
                )
            )
        elif each.f in CALLBACKS:
            argument = (GROUP, (each.key,))
            of_log = mark if has_log else None
            told.append(replace(each, key=None, argument=argument, result=None, mark=of_log))
        elif each.f == "fetch":
            read = tuple((at, at) for at in range(each.argument, each.result))
            told.append(replace(each, result=read, to=each.result))
        elif each.f == "commit-offsets":
            argument = (GROUP, ((each.key, each.argument),))
            told.append(replace(each, key=None, argument=argument, result=None))
        else:
            result = ((each.key, each.result),)
            told.append(replace(each, key=None, argument=GROUP, result=result))
    return log, tuple(told)
