"""When one partition makes a producer go on in a new epoch, batches of others are numbered anew.

librdkafka does so. A batch that a broker has, and whose answer was lost, is another batch under
other numbers, so that the broker appends it once more.
"""

from __future__ import annotations

from kraftcheck.reference.clients.rules import ProducerRules


class RenumberBatches(ProducerRules):
    def renumbers(self, batch_epoch: int, epoch: int) -> bool:
        return batch_epoch != epoch
