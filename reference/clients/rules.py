"""The decisions of an idempotent producer that writes to several partitions under one epoch."""

from __future__ import annotations


class ProducerRules:
    """Made of nothing. A bug overrides methods."""

    __slots__ = ()

    def first_sequence(self, next_sequence: int) -> int:
        """KAFKA-12152.

        A partition's first number in a new epoch is 0, whether or not it had batches in flight when
        another partition made the producer go on in that epoch.

        Args:
            next_sequence: the number that it would have had in the epoch before.
        """
        return 0

    def renumbers(self, batch_epoch: int, epoch: int) -> bool:
        """KIP-360.

        A batch that was sent keeps its epoch and its number when the producer goes on in a new
        epoch for the sake of another partition. Under new ones a broker that has the batch takes it
        for another batch.
        """
        return False
