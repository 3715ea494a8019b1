"""Every decision of a broker about its replica that has a name: the twin of HostingRules.tla.

Law of this file: a rule has no state and no effects, and asks other rules only through `self`. Rule
ids are those of docs/reference/protocol-rules.md. `by_snapshot` says in which form the metadata
come; a correct rule does not care.
"""

from __future__ import annotations

from kraftcheck.reference.partition.hosting.types import UNASSIGNED, Constants, HostRow, Image, Log


class HostingRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- What metadata change here: V27, V28, R6, R13 ---

    def is_of_deleted_topic(self, row: HostRow, by_snapshot: bool) -> bool:
        """R13. The replica is one of a topic that there is no more."""
        return row.replica.topic_id != row.image.topic_id

    def has_left(self, row: HostRow, by_snapshot: bool) -> bool:
        """R6, V27. The topic is there, and the broker is none of its replicas."""
        return row.replica.topic_id == row.image.topic_id and not row.image.assigned

    def clears_pending(self, row: HostRow, by_snapshot: bool) -> bool:
        """P10, V27. Metadata answer a proposal only if they are newer than what it was made of."""
        return row.image.partition_epoch > row.replica.partition_epoch

    def is_stray(self, log: Log, image: Image) -> bool:
        """R13.

        A log of another topic of that name, or of one that the broker is to have no replica of
        (KAFKA-14616).
        """
        return log.topic_id != image.topic_id or not image.assigned

    def reads_aborted(self, row: HostRow, by_snapshot: bool) -> bool:
        """V28.

        What an aborted transaction has is no part of the metadata, whatever is read with it.
        """
        return False

    # --- Directories: R18 to R22 ---

    def forgets_offline(self, row: HostRow) -> bool:
        """R22. A replica that is removed is forgotten also where its directory has failed."""
        return True

    def may_create(self, row: HostRow) -> bool:
        """R20.

        A replica is created where the controller believes it, or anywhere if it believes nothing;
        never beside one of the same topic whose directory has failed (KAFKA-16234).
        """
        has_failed = row.replica.state == "Offline" and row.replica.topic_id == row.image.topic_id
        if has_failed:
            return False
        return row.image.directory == UNASSIGNED or row.image.directory in row.online

    def promotes_future(self, row: HostRow) -> bool:
        """R21.

        Whether a future log becomes the replica. It was at the replica's end once, and the
        controller was told; but records may have come since, so both ends are compared again.
        """
        return row.future_assigned and row.future_caught_up

    def recovers_future(self, row: HostRow) -> bool:
        """R21.

        Whether a start takes the future log for the replica: where the controller believes it, if
        it ends where the replica's log ends. Kafka 4.3.1 does not compare the ends.
        """
        return row.future == row.image.directory and row.future_caught_up

    def takes_back_assignment(self, row: HostRow) -> bool:
        """R21 (KAFKA-16297).

        Whether the controller is told when a replica that it was told of is not promoted.
        """
        return row.future_assigned
