"""The situations as data: acks x election x fault x client API.

A *setup* is what can be arranged: a topic's configuration, its producer's acks, and a fault of who
leads. Looked at through one client API it is a *situation*.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FAULTS: Final = {
    "none": "nothing happens",
    "kill": "the leader is killed; what it had written stays in the page cache",
    "stop": "the leader is shut down in order, and hands its partitions on",
    "pause": "the leader does nothing for longer than its session, and then goes on",
    "partition": "the leader is cut off from brokers and controller, not from clients",
    "power": "the leader is killed, and loses what was not flushed",
    "last": "the followers are cut off until the leader is alone in sync; then it is killed",
    "last-power": "the same, and it loses what was not flushed",
}
"""What is done to the leader for a while, by the names of live/faults.py."""


class Election(NamedTuple):
    """How a topic may elect: min.insync.replicas, and unclean.leader.election.enable."""

    min_insync_replicas: int
    unclean: bool


ELECTIONS: Final = {
    "clean, min ISR 2": Election(2, False),
    "clean, min ISR 1": Election(1, False),
    "unclean, min ISR 1": Election(1, True),
}
ACKS: Final = ("0", "1", "all")
"""Of the producer. It is idempotent with all; otherwise it sends nothing twice."""


class Setup(NamedTuple):
    """A key of each of FAULTS and ELECTIONS, and one of ACKS."""

    fault: str
    election: str
    acks: str

    @property
    def name(self) -> str:
        """As stored results name it."""
        return " / ".join(self)

    @property
    def idempotent(self) -> bool:
        return self.acks == "all"


SETUPS: Final = tuple(
    Setup(fault, election, acks) for fault in FAULTS for election in ELECTIONS for acks in ACKS
)
