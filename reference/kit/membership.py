"""What a group's run tells of its members, declared once for each protocol that has a group.

    Membership(...).operations    is the `told` of a `ClientPromise` (kit/protocol.py)

Each partition is an object of its own, as the group reads it. Of it are told what members were
given and gave up, what they read and committed, and what the coordinator's log says that they have;
the words are those of traces/checkers/group_partition.py.

Law of this file: it knows no protocol, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.reference.kit.protocol import Answered, Asked, ClientPromise, Outcome

MODEL: Final = "group-partition"
"""By which such histories are judged."""

Told: TypeAlias = Iterable[Asked | Answered]


class Membership(NamedTuple):
    """Which rows and inputs of a group are which events of its clients."""

    coordinator: int
    """Its node."""
    has: Callable[[Any], Collection[int]]
    """What the member of a row has: callbacks gave it, and have not taken it yet."""
    loses: Callable[[Any], bool]
    """Whether an input tells a member that it has lost what it had."""
    given: Callable[[Any], Iterable[Collection[int] | None]]
    """By a record of the coordinator's log, what each member has; None: it is none."""
    by_generation: bool = False
    """What a record of the log leaves out, its member gives up later, when it joins again."""
    more: Mapping[type[Any], Callable[[Any, int, Any, Any, Outcome], Told]] = {}
    """By input of a member, what else is told, as `operations` has it."""

    def promise(self) -> ClientPromise:
        """What is promised until a third broker coordinates.

        What the second one answered without a record, the first one may undo if it comes back.
        """
        return ClientPromise(
            lambda: MODEL,
            self.operations,
            until=lambda node, row: node == self.coordinator and row.leader_epoch > 2,
        )

    def operations(self, constants: Any, node: int, row: Any, input: Any, outcome: Outcome) -> Told:
        """What a step tells."""
        if node == self.coordinator:
            yield from self._of_log(constants, row.log, outcome.row.log)
        elif node in constants.members:
            before, after = self.has(row), self.has(outcome.row)
            if before != after:
                taken = "lost" if self.loses(input) else "revoked"
                for op, one, other in (
                    (taken, before, after),
                    ("assigned", after, before),
                ):
                    for p in sorted(set(one).difference(other)):
                        yield from happened(op, node, p)
            more = self.more.get(type(input))
            if more is not None:
                yield from more(constants, node, row, input, outcome)

    def _of_log(self, constants: Any, before: Any, after: Any) -> Told:
        """Tell what is committed now, record by record."""
        if after.committed == before.committed:
            return
        records = (before.committed, *before.leader)
        if after.committed not in records:
            records = (before.committed, after.committed)
        for one, other in pairwise(records):
            of = [*zip(constants.members, self.given(one), self.given(other), strict=True)]
            # A record may pass a partition on.
            for n, had, have in of:
                left = set(had or ()).difference(have or ())
                if self.by_generation and had is not None and have is None:
                    left = {*constants.partitions}
                taken = "log-asked" if self.by_generation else "log-taken"
                for p in sorted(left):
                    yield from happened("log-removed" if have is None else taken, n, p)
            for n, had, have in of:
                for p in sorted(set(have or ()).difference(had or ())):
                    yield from happened("log-given", n, p)


def happened(
    op: str, process: int, key: int, argument: int | None = None, result: int | None = None
) -> Iterator[Asked | Answered]:
    """What was asked and answered at once."""
    id = object()
    yield Asked(id, op, argument, key, process)
    yield Answered(id, result)
