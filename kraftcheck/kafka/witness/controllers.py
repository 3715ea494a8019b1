"""Controllers of Kafka's; the metadata log and clients are the reference's.

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.steered import Declared, KafkaSteered, deliver, some
from kraftcheck.reference.controllers.messages import (
    AdvanceHighWatermark,
    ElectVoter,
    WriteEvent,
)
from kraftcheck.reference.controllers.protocol import CONTROLLER_KIND, CONTROLLERS
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.sim.choices import Stream

MOST: Final = 1000
"""Of epochs, and of requests to each controller."""


class KafkaControllers(KafkaSteered):
    """Controllers under a schedule."""

    protocol = CONTROLLERS
    kafkas = (CONTROLLER_KIND.name,)


MOVES: Final[dict[Callable[[KafkaControllers, Stream], bool], tuple[int, ...]]] = {
    deliver(500): (60, 120),
    some(WriteEvent): (20, 60),
    some(AdvanceHighWatermark): (10, 30),
    some(ElectVoter): (1, 5, 15),
}
"""How often each kind may be taken, of which a run draws one."""


class _Controllers(Declared):
    """See chance.Component."""

    protocol = CONTROLLERS
    kinds = MOVES
    schedule = KafkaControllers

    def settings(self, nodes: int, seed: int) -> Any:
        return options_of(CONTROLLERS).of(
            controllers=tuple(range(1, nodes + 1)), max_epochs=MOST, max_operations=MOST
        )


ACTIVE_CONTROLLERS: Final = _Controllers()


def component(kafka: Kafka) -> _Controllers:
    """Those of all versions are driven alike."""
    return ACTIVE_CONTROLLERS
