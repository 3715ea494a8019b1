"""In a new epoch only the partition that asked for it begins with number 0 (KAFKA-12152).

The brokers of the others refuse what comes next.
"""

from __future__ import annotations

from kraftcheck.reference.clients.rules import ProducerRules


class KeepSequence(ProducerRules):
    def first_sequence(self, next_sequence: int) -> int:
        return next_sequence
