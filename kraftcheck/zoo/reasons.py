"""Why some bugs have no overlay, and why some expected detections have no stored run.

Why one oracle alone sees a bug stands in its entry of the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NO_OVERLAY: Mapping[str, str] = MappingProxyType(
    {
        "Z36": "in the reference only: in the models nothing else is sent before the answer",
        "Z40": "a configuration, nothing is replaced",
        "Z53": "a configuration, nothing is replaced",
        "Z54": "a configuration, nothing is replaced",
        "Z59": "in the reference only: no model sends so many batches",
    }
)
"""By bug that is replayed without an overlay: why."""

NO_RUN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("Z03", "histories"): "no client happened to read or write while the state was wrong",
        ("Z04", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z05",
            "invariants",
        ): "epochs must take turns so that a record of one is cut by another and comes "
        "back, as in the 14 states of its model; none in 2,000 runs",
        (
            "Z05",
            "histories",
        ): "epochs must take turns so that a record of one is cut by another and comes "
        "back, as in the 14 states of its model; none in 2,000 runs, and a client must "
        "see it",
        ("Z08", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z13",
            "invariants",
        ): "a voter must vote, fall back within the epoch, and be asked by another "
        "candidate of the same epoch; none in 2,000 runs",
        ("Z25", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z27",
            "invariants",
        ): "a follower of an older epoch must carry the high watermark past a record that "
        "it then cuts",
        (
            "Z27",
            "histories",
        ): "a follower of an older epoch must carry the high watermark past a record that "
        "it then cuts, and a client must see it",
        (
            "Z28",
            "histories",
        ): "a replica must join between a new leader's election and its first record, and "
        "be elected before it fetched that, and a client must see it",
        ("Z29", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z30",
            "steps",
        ): "a follower with a diverging log must be answered by a leader of another epoch "
        "than its own, 21 states on in its model",
        (
            "Z35",
            "histories",
        ): "a delayed proposal must bring back a member that the controller has removed "
        "meanwhile, and a client must see it",
        (
            "Z38",
            "steps",
        ): "a replica must catch up, be proposed, lose its log, register and be unfenced "
        "while the proposal is on its way",
        (
            "Z38",
            "invariants",
        ): "a replica must catch up, be proposed, lose its log, register and be unfenced "
        "while the proposal is on its way",
        (
            "Z38",
            "histories",
        ): "a replica must catch up, be proposed, lose its log, register and be unfenced "
        "while the proposal is on its way, and a client must see it",
        (
            "Z39",
            "invariants",
        ): "a replica must catch up, begin anew with less, and be elected before anybody "
        "fetched again",
        (
            "Z39",
            "histories",
        ): "a replica must catch up, begin anew with less, and be elected before anybody "
        "fetched again, and a client must see it",
        ("Z44", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z46",
            "steps",
        ): "the leader must change and change back while an answer is on its way to a "
        "follower whose log did not move",
        ("Z48", "histories"): "no client happened to read or write while the state was wrong",
        ("Z49", "histories"): "no client happened to read or write while the state was wrong",
        ("Z50", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z56",
            "invariants",
        ): "the answer to a registration must outlive its process, and reach the next one "
        "while that waits for its own",
        (
            "Z56",
            "histories",
        ): "the answer to a registration must outlive its process, and reach the next one "
        "while that waits for its own, and a client must see it",
        (
            "Z60",
            "invariants",
        ): "a follower must cut a batch, be elected, and be sent that very batch again",
        (
            "Z60",
            "histories",
        ): "a follower must cut a batch, be elected, and be sent that very batch again, "
        "and a client must see it",
        (
            "Z67",
            "steps",
        ): "a leader must miss the epoch of another leader, be elected again, and read "
        "both changes as one",
        (
            "Z67",
            "invariants",
        ): "a leader must miss the epoch of another leader, be elected again, and read "
        "both changes as one",
        (
            "Z67",
            "histories",
        ): "a leader must miss the epoch of another leader, be elected again, and read "
        "both changes as one, and a client must see it",
        (
            "Z68",
            "invariants",
        ): "a loser must follow, append a record of its epoch, and start again before the "
        "next election reaches it",
        (
            "Z69",
            "histories",
        ): "the answer and the record of one change must reach the leader on either side "
        "of its next proposal, and a client must see it",
    }
)
"""By bug and oracle that is expected to find it: why no run in which it does is stored."""
