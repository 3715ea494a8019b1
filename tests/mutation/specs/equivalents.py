"""Mutants of the specs that no model and no step can tell from the correct spec, with the argument.

An argument says why the guard decides nothing in what the spec can reach: another guard says the
same before it, or what it protects cannot occur. It is an argument and no proof; what was explored
stands in mutants.json. Two are evaluated for every small row as well
(tests/mutation/specs/same_answers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EQUIVALENT: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        (
            "QuorumRules.StartupRole",
            "arm",
            "quorumState.epoch < lastEpoch",
        ): "a voter writes its epoch down before it appends records of it, and a crash loses no "
        "epoch, so that no log is ahead of it",
        (
            "QuorumRules.IsStaleResponse",
            "disjunct",
            'm.error = "UNKNOWN_LEADER_EPOCH"',
        ): "whoever says that it does not know an epoch is in an older one, and says so in the "
        "same response, which the other disjunct looks at",
        (
            "QuorumRules.FetchDiverges",
            "conjunct",
            "m.fetchOffset > 0",
        ): "who fetches from the beginning has an empty log, and so no last epoch; for that the "
        "leader finds epoch 0, which ends where the log begins, and nothing diverges",
        (
            "QuorumRules.TruncationOffset",
            "arm",
            "diverging.epoch = 0",
        ): "epoch 0 has no records, so it ends where the log begins, at the leader as here, and "
        "the other arms come to the same",
        (
            "PartitionRules.IsActive",
            "conjunct",
            "registration.epoch # Undefined",
        ): "every replica is registered from the beginning, and no registration is taken back",
        (
            "PartitionRules.IsDuplicateRegistration",
            "conjunct",
            "registration.epoch # Undefined",
        ): "every replica is registered from the beginning, and no registration is taken back",
        (
            "PartitionRules.IsIsrEligible",
            "conjunct",
            "row.remotes[r].brokerEpoch # Undefined",
        ): "metadata has an epoch for every replica, so that none is equal to an undefined one, "
        "which the next conjunct looks at",
        (
            "PartitionRules.MaximalIsr",
            "always",
            'row.pending.kind = "Expand"',
        ): "a proposal to shrink names members of the ISR only, and no proposal names nobody, so "
        "that nothing is added to the ISR",
        (
            "PartitionRules.ResponseMatches",
            "conjunct",
            'row.role = "Follower"',
        ): "a leader is its own leader, and nobody answers itself; the next conjunct sees it",
        (
            "PartitionRules.ResponseMatches",
            "conjunct",
            "m.request.fetchOffset = EndOffset(row.log)",
        ): "a follower has one fetch with each leader in flight, and within one epoch nothing but "
        "its answer moves the log; other epochs the conjunct before sees",
        (
            "PartitionRules.LastKnownLeaderElectable",
            "conjunct",
            "ElrEnabled",
        ): "a last leader is noted with ELR only, and another conjunct asks for it",
        (
            "PartitionRules.LastKnownLeaderElectable",
            "conjunct",
            "targetIsr = {}",
        ): "a last leader is noted when the ISR becomes empty and forgotten when it is not any "
        "more, and another conjunct asks for it",
        (
            "PartitionRules.LastKnownLeaderElectable",
            "conjunct",
            "partition.lastKnownLeader # Nobody",
        ): "nobody is never among those who may lead, which the next conjunct asks for",
        (
            "PartitionRules.IsOutOfSync",
            "conjunct",
            "row.remotes[r].endOffset # EndOffset(row.log)",
        ): "a fetch at the end of the log makes a replica caught up, and it lags only once the log "
        "has grown, so that who is not caught up is not at the end; the model with other steps is "
        "one that forgets who is caught up (docs/proofs.md, 12)",
        (
            "PartitionRules.IsWaitedFor",
            "disjunct",
            "row.remotes[r].endOffset = EndOffset(row.log)",
        ): "the high watermark's bound alone asks it, and whoever has the whole log does not lower "
        "that bound, waited for or not; TLC finds the same bound for every small row",
        (
            "PartitionRules.ParkedError",
            "always",
            "Cardinality(MaximalIsr(row)) >= EffectiveMinIsr",
        ): "it is asked when the high watermark has just moved, which it does only while the ISR, "
        "and so the maximal ISR, is large enough (EnoughInSync); TLC finds the same answers for "
        "every small row. Z50, Kafka before that rule, replaces both",
    }
)
"""By decision, kind of mutant and guard: the argument, in a sentence."""
