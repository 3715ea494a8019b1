"""What may change in a run of a quorum on request: which protocol takes its steps, of whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.sim.faults import OF_RECORDS, Options
from kraftcheck.reference.quorum.snapshots.protocol import SNAPSHOTS
from kraftcheck.reference.quorum.snapshots.types import Constants as SnapshotConstants
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.quorum.voters.protocol import VOTERS
from kraftcheck.reference.quorum.voters.types import Constants as VoterConstants

OF_CHANGES: Final = (
    *("observers", "brokers", "voter_changes", "snapshots", "state_machines"),
    *OF_RECORDS,
)
"""The options of which any makes a run one of these."""


def number(asked: Any) -> int:
    """An option's, where it was requested."""
    return 0 if asked is UNSET else int(asked)


def taken_by(requested: Mapping[str, Any]) -> str:
    """The protocol of runs for which these options are requested."""
    if "snapshots" in requested:
        return SNAPSHOTS.name
    return VOTERS.name if not requested.keys().isdisjoint(OF_CHANGES) else QUORUM.name


def changes(options: Options) -> bool:
    """Whether anything may change but who leads."""
    return any(getattr(options, name) is not UNSET for name in OF_CHANGES)


def may_vote(options: Options) -> range:
    """Who may be asked to be a voter: nodes that are no brokers, which only observe."""
    return range(options.voters + number(options.observers))


def constants_of(options: Options) -> Constants | VoterConstants:
    """The constants of the run: its first voters, observers, then brokers."""
    voters = tuple(range(options.voters))
    if not changes(options):
        return Constants(voters, options.fetch_max_records)
    nodes = tuple(range(len(may_vote(options)) + number(options.brokers)))
    if options.snapshots is UNSET:
        observers = may_vote(options)[options.voters :]
        return VoterConstants(
            nodes,
            voters,
            options.fetch_max_records,
            kraft_version=1 if options.kraft_version is UNSET else options.kraft_version,
            auto_join=options.auto_join is True,
            listeners_change=options.listeners_change is True,
            unformatted=tuple(observers[len(observers) - number(options.unformatted) :]),
        )
    machines = options.state_machines is True
    return SnapshotConstants(nodes, voters, options.fetch_max_records, state_machines=machines)
