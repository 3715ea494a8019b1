"""Z303 (KAFKA-18723): a follower appends records of a later epoch than its own.

A leader answers a fetch, follows another leader, and its log is overwritten before the bytes of the
answer are read. So a follower of the old epoch is given records of the new one. Without a look at
their epoch it appends them, and its epoch cache runs ahead of its own epoch.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "LogMatching",
    source="KAFKA-18723; KafkaRaftLog.appendAsFollower",
    protocol="quorum",
    year=2025,
    boundary="appendable; a fetch is answered / the bytes of its answer are read",
    field="log, epochCache apart from epoch",
    scope="an answer is made and read in one step, so that no voter is given records of a later "
    "epoch; a step that appends one is refused all the same",
)
