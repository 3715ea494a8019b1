"""How trouble comes: in episodes, with calm between them, until everything is healed.

Law of this file: which episodes there are, and what each does, is a protocol's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.network import Network, Partition


class Episodes(ABC):
    """The faults of one run, other than those of single messages.

    calm_ms: about so long nothing happens between two. later: calls with an argument after so many
    microseconds.
    """

    first_calm_ms: int

    def __init__(
        self,
        calm_ms: int,
        stream: Stream,
        later: Callable[[int, Callable[[int], None], int], None],
        networks: Sequence[Network],
    ) -> None:
        self._calm_ms, self._stream = calm_ms, stream
        self._later, self._networks = later, networks
        self._over = False
        self.partitions = 0

    def start(self) -> None:
        self._later(1000 * self.first_calm_ms, self._calm, 0)

    def _calm(self, _: int) -> None:
        delay = self._calm_ms // 2 + self._calm_ms * self._stream.below(16) // 15
        self._later(1000 * delay, lambda _: None if self._over else self.episode(), 0)

    @abstractmethod
    def episode(self) -> None:
        """Draws an episode and begins it; then, or when its moment has come, there is calm."""

    def cut(self, partition: Partition) -> None:
        """Cuts the network, for a time."""
        self.partitions += 1
        for network in self._networks:
            network.begin(partition)
        self._later(1000 * partition.lasts_ms, lambda _: self._mend(partition), 0)

    def _mend(self, partition: Partition) -> None:
        if not self._over:
            for network in self._networks:
                network.end(partition)

    def end(self) -> None:
        """Nothing begins any more, and the network is whole."""
        self._over = True
        for network in self._networks:
            network.heal()
