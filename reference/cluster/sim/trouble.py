"""Who makes trouble for the brokers of a cluster, and starts those anew that it has forgotten.

The quorum has trouble of its own (reference/quorum/sim/trouble.py), controller failovers among it.
"""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.partition.sim.trouble import RESTART_MS, Trouble, Troubled
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.sim.choices import pick

UNREGISTERED_MS: Final = 900
"""So long a broker runs that is not registered any more."""


class ClusterTrouble(Trouble):
    """The faults of one run's brokers, other than those of single messages."""

    first_calm_ms = 1800
    """By then most clusters have a controller, and leaders."""

    _brokers: Any

    def struck(self) -> Troubled:
        return pick(self._stream, self._partitions)

    def unregistered(self, node: int) -> None:
        """Start a broker anew that the controller does not know any more.

        The controller refuses what it asks: whoever runs it starts it anew, and looks again.
        """
        self._later(1000 * UNREGISTERED_MS, self._start_anew, node)

    def _start_anew(self, node: int) -> None:
        of = self._brokers.partitions_of[node][0]
        known = of.controller.registrations[of.brokers.index(node)]
        if known.epoch != UNDEFINED:
            return
        if of.is_running(node) and of.row(node).broker_epoch != UNDEFINED:
            self._brokers.kill(node)
            self._later(1000 * RESTART_MS, self._brokers.start_again, node)
        self.unregistered(node)
