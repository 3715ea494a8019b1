"""What steps of transactions are judged on (traces/jobs): how handlers look at numbers and logs.

Epochs and sequence numbers are ranks (reference/kit/fields.py), of which one renumbering serves a
whole step. So it must keep what any of its handlers sees of either:

* Partitions and producers compare both, take sequence numbers one up or down, and know 0 and
  UNKNOWN. An order-preserving map that leaves a number next to the one before it and behind it
  where it was shows them nothing (`compared`). A producer that sends all batches again (X33)
  counts up from 0: where none is missing nothing moves, and where one is a gap remains.
* Coordinators have epochs alone. They compare them for equality, count on by less than four within
  a producer id, and come to the first epoch of the next id and of the one after that
  (`IsExhausted`, `NextProducerId`, `CompletedEpoch`). They see which id it is only by comparing,
  and how far an epoch is in its id only near the last one (`epochs_of_ids`).

Logs: a beginning ends behind a marker. Before one, nothing is open (`DecidedUpTo`), and an aborted
transaction that begins there ends there (`AbortedIn`). Other than these, `Append`, comparisons of
two logs, the last record and what lies behind an offset, only `LoadedOffsets` looks at a log: what
the next leader of a partition that keeps offsets finds in it.

Law of this file: nothing is decided here. tests/traces/jobs/test_judged_forms.py has TLC judge
steps in both forms, and lists all arithmetic of the modules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.protocol import Beginning, ranks_apart
from kraftcheck.reference.transactions.messages import (
    PARTITION_INPUTS,
    READER_INPUTS,
    ChangeLeader,
    LogEntry,
)
from kraftcheck.reference.transactions.types import Constants


def compared(constants: Constants, ranks: Collection[int]) -> Mapping[int, int]:
    """Of partitions and producers."""
    return ranks_apart(ranks, (-1, 1))


def epochs_of_ids(constants: Constants, ranks: Collection[int]) -> Mapping[int, int]:
    """Of coordinators. At the end of an id epochs stay where they are in it: there it shows."""
    of_id = constants.max_epoch + 2
    ids = ranks_apart([rank // of_id for rank in ranks], (1, 2))
    within = {rank % of_id for rank in ranks}
    if max(within) + 4 > constants.max_epoch:
        places = {at: at for at in within}
    else:
        places = ranks_apart(within, (1, 2, 3))
    return {rank: ids[rank // of_id] * of_id + places[rank % of_id] for rank in ranks}


def _ends(record: LogEntry) -> bool:
    return record.kind == "Marker"


LOGS: Final = Beginning(
    frozenset(map(action_name, PARTITION_INPUTS)), logs=("log", "follower.log"), ends=_ends
)
LOGS_OF_OFFSETS: Final = LOGS._replace(actions=LOGS.actions - {action_name(ChangeLeader)})
SEEN: Final = Beginning(frozenset(map(action_name, READER_INPUTS)), noted=("read.shown",))
"""Of a reader, up to where it reads."""

UNMENTIONED: Final[Mapping[str, Any]] = {
    "version": 2,
    "max_epoch": 32766,
    "hears_errors": False,
    "replicas": 1,
    "offsets": (),
    "recovers": False,
    "ids_expire": False,
    "read_committed": (21,),
    "read_uncommitted": (31,),
    "markers_refused": False,
}
"""The constants under which steps are judged to which they do not matter."""
