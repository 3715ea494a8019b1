"""What each node of the quorum has noted of elections: the file `quorum-state`.

A node writes it before it votes or follows, so its epoch is never below that of its log, and no two
nodes have two leaders of one epoch. Which vote a node gave, only the node knows.

(org.apache.kafka.raft.FileQuorumStateStore; QuorumStateData.json.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.osutil.files import read_bytes
from kraftcheck.traces.disks.files import TEXT_MAX, Malformed, Newer
from kraftcheck.traces.disks.found import DiskReplica, Election, Finding

FILE: Final = "quorum-state"
VERSION: Final = 1
"""The latest that is known here."""
NOBODY: Final = -1


class _Voter(msgspec.Struct, rename="camel"):
    voter_id: int


class _Data(msgspec.Struct, rename="camel"):
    """votedDirectoryId of version 1; clusterId, appliedOffset and currentVoters of version 0."""

    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: str = ""
    applied_offset: int = 0
    current_voters: list[_Voter] = []


def election_of(folder: Path) -> Election | None:
    """Of the directory of a metadata log.

    None: there is no such file. Raises Malformed: no node starts with it; OSError.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        told: dict[str, Any] = json.loads(read_bytes(path, TEXT_MAX))
        version = told["data_version"]
        if type(version) is int and version > VERSION:
            raise Newer(f"a state of version {version}, which is not read here")
        if version not in range(VERSION + 1):
            raise Malformed(f"a state of version {version}")
        data = msgspec.convert(told, _Data)
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError):
        raise Malformed("no state of a quorum") from None
    if data.leader_epoch < 0 or min(data.leader_id, data.voted_id) < NOBODY:
        raise Malformed("no state of a quorum")
    if version == 0 and "currentVoters" not in told:
        raise Malformed("a state of version 0 without voters")
    return Election(
        data.leader_epoch, data.leader_id, tuple(each.voter_id for each in data.current_voters)
    )


def compare(replicas: Sequence[DiskReplica]) -> Iterator[Finding]:
    """Of any two nodes: one leader of an epoch, and the same voters where they do not change."""
    of = [(each, each.election) for each in replicas if each.election is not None]
    for (one, ours), (other, theirs) in combinations(of, 2):
        names = f"{FILE} of {one.folder} and {other.folder}"
        leaders = {ours.leader, theirs.leader} - {NOBODY}
        if ours.epoch == theirs.epoch and len(leaders) > 1:
            said = f"{names}: epoch {ours.epoch} has the leaders {ours.leader} and {theirs.leader}"
            yield Finding("violated", "ElectionSafety", "", -1, said)
        if ours.voters and theirs.voters and set(ours.voters) != set(theirs.voters):
            sets = [",".join(map(str, sorted(each.voters))) for each in (ours, theirs)]
            said = f"{names}: the voters are {sets[0]}, and {sets[1]}"
            yield Finding("report", "ElectionSafety", "", -1, said)
