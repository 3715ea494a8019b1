"""The bug zoo of the partition: what each bug is, what it breaks, and how to have it.

Law of this file: as in catalog.py, everything that anybody says about a bug is said here or in the
bug's own file, once. A bug is a substitution: a subclass of PartitionRules that overrides some
rules, or one of BrokerHandlers that overrides a handler, and nothing else. Its story is the prose
at the top of that subclass's file. Some are no mistakes but configurations under which Kafka
promises less: negative controls, which show that a property can fail.

Ids are those of the bug zoo in the protocol rules, sections 7.2 and 7.3. The overlays in specs/bugs
carry the same ids and replace the same rules.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from reference.bugs.catalog import Class, Detector, OutOfScope, UnknownBug
from reference.bugs.probing import Consulted, probed
from reference.bugs.z23_truncate_to_high_watermark import Z23TruncateToHighWatermark
from reference.bugs.z25_end_offset_without_epoch import Z25EndOffsetWithoutEpoch
from reference.bugs.z26_no_fencing import Z26NoFencing
from reference.bugs.z27_fenced_by_last_epoch_only import Z27FencedByLastEpochOnly
from reference.bugs.z28_joins_before_epoch_start import Z28JoinsBeforeEpochStart
from reference.bugs.z29_counts_diverging_fetch import Z29CountsDivergingFetch
from reference.bugs.z30_unfenced_truncation import Z30UnfencedTruncation
from reference.bugs.z31_same_leader_not_asked import Z31SameLeaderNotAsked
from reference.bugs.z32_epoch_start_not_recorded import Z32EpochStartNotRecorded
from reference.bugs.z33_committed_isr_only import Z33CommittedIsrOnly
from reference.bugs.z34_eager_shrink import Z34EagerShrink
from reference.bugs.z35_no_compare_and_set import Z35NoCompareAndSet
from reference.bugs.z36_several_in_flight import Z36SeveralInFlight
from reference.bugs.z37_inactive_may_join import Z37InactiveMayJoin
from reference.bugs.z38_broker_epoch_not_checked import Z38BrokerEpochNotChecked
from reference.bugs.z39_proposes_the_new_epoch import Z39ProposesTheNewEpoch
from reference.bugs.z41_advances_below_min_isr import Z41AdvancesBelowMinIsr
from reference.bugs.z42_unclean_stays_eligible import Z42UncleanStaysEligible
from reference.bugs.z43_dead_last_leader_elected import Z43DeadLastLeaderElected
from reference.bugs.z44_high_watermark_first import Z44HighWatermarkFirst
from reference.bugs.z45_last_epoch_lost import Z45LastEpochLost
from reference.bugs.z46_response_outlives_epoch import Z46ResponseOutlivesEpoch
from reference.bugs.z48_offsets_go_back import Z48OffsetsGoBack
from reference.bugs.z49_high_watermark_below_start import Z49HighWatermarkBelowStart
from reference.bugs.z50_no_check_after_append import Z50NoCheckAfterAppend
from reference.bugs.z51_not_tried_after_alter import Z51NotTriedAfterAlter
from reference.bugs.z52_waits_for_ineligible import Z52WaitsForIneligible
from reference.bugs.z55_recovery_skips_bad_batch import Z55RecoverySkipsBadBatch
from reference.bugs.z56_incarnation_not_checked import Z56IncarnationNotChecked
from reference.bugs.z58_no_deduplication import Z58NoDeduplication
from reference.bugs.z59_one_batch_kept import Z59OneBatchKept
from reference.bugs.z60_producer_state_kept import Z60ProducerStateKept
from reference.bugs.z67_keeps_end_offsets import Z67KeepsEndOffsets
from reference.bugs.z69_metadata_clears_proposal import Z69MetadataClearsProposal
from reference.core.broker import BrokerHandlers
from reference.core.partition_rules import PARTITION_RULES, PartitionRules
from reference.core.partition_types import PartitionConstants

HANDLER_NAMES: tuple[str, ...] = tuple(
    sorted(
        name
        for of in BrokerHandlers.__mro__
        for name, member in vars(of).items()
        if callable(member) and not name.startswith("_")
    )
)
"""Handlers, and what they are made of."""


class PartitionBug(msgspec.Struct, frozen=True, kw_only=True):
    """One bug of the zoo, or one configuration that promises less."""

    id: str
    title: str
    story: str
    source: str
    year: int | None
    """When the bug was reported or mended, where that is known."""
    replacement: type[PartitionRules] | type[BrokerHandlers] | None
    """The rules, or the handlers, with the bug in them; None where nothing is replaced."""
    configuration: str = ""
    """The configuration that is the bug, where nothing is replaced."""
    property: str
    """The first property that names it: an invariant of core, or a liveness property."""
    also: tuple[str, ...] = ()
    """Further properties that it breaks, or may break in the same run."""
    klass: Class
    replicas: int
    """The smallest partition that shows it."""
    lossy: bool = False
    """Whether a crash must lose something."""
    detectors: tuple[Detector, ...]
    """Who can see it. Not `steps` where the bug is that a step never happens."""
    boundary: str
    """Where it lives: the rule, or the place where the correct protocol has two steps."""
    field: str
    """The field of a row that shows it."""
    alone: str = ""
    """Why one oracle alone can see it, or has so far; empty where two have."""
    scope: str = ""
    """Why it cannot be replayed yet; empty when it can."""

    @builtins.property
    def rules(self) -> dict[str, Callable[..., Any]]:
        """The replaced rules by name, in the order of `PARTITION_RULES`."""
        return self._replaced(PartitionRules, PARTITION_RULES)

    @builtins.property
    def handlers(self) -> dict[str, Callable[..., Any]]:
        """The replaced handlers by name."""
        return self._replaced(BrokerHandlers, HANDLER_NAMES)

    def _replaced(self, of: type, names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
        if self.replacement is None or not issubclass(self.replacement, of):
            return {}
        own = vars(self.replacement)
        return {name: own[name] for name in names if name in own}

    @builtins.property
    def in_scope(self) -> bool:
        return not self.scope


def _bug(
    id: str,
    replacement: type[PartitionRules] | type[BrokerHandlers],
    property: str,
    *also: str,
    source: str,
    field: str,
    year: int | None = None,
    klass: Class = "safety",
    replicas: int = 3,
    lossy: bool = False,
    detectors: tuple[Detector, ...] | None = None,
    boundary: str = "",
    alone: str = "",
) -> PartitionBug:
    """An entry whose title and story are the prose of the replacement's file."""
    prose = sys.modules[replacement.__module__].__doc__ or ""
    title, _, story = prose.partition("\n\n")
    if detectors is None:
        detectors = _ALL if klass == "safety" else ("tlc", "steps")
    entry = PartitionBug(
        id=id,
        title=title.split(": ", 1)[1].rstrip("."),
        story=" ".join(story.split()),
        source=source,
        year=year,
        replacement=replacement,
        property=property,
        also=also,
        klass=klass,
        replicas=replicas,
        lossy=lossy,
        detectors=detectors,
        boundary=boundary,
        field=field,
        alone=alone,
    )
    return entry if boundary else msgspec.structs.replace(entry, boundary=", ".join(entry.rules))


def _other(
    id: str,
    property: str,
    *also: str,
    title: str,
    story: str,
    source: str,
    field: str,
    boundary: str,
    configuration: str = "",
    scope: str = "",
    klass: Class = "safety",
    replicas: int = 3,
    lossy: bool = False,
    detectors: tuple[Detector, ...] = (),
    alone: str = "",
) -> PartitionBug:
    """An entry that replaces nothing: a configuration, or what cannot be replayed yet."""
    assert bool(configuration) == bool(detectors) != bool(scope)
    return PartitionBug(
        id=id,
        title=title,
        story=story,
        source=source,
        year=None,
        replacement=None,
        configuration=configuration,
        property=property,
        also=also,
        klass=klass,
        replicas=replicas,
        lossy=lossy,
        detectors=detectors,
        boundary=boundary,
        field=field,
        alone=alone,
        scope=scope,
    )


_ALL: tuple[Detector, ...] = ("tlc", "steps", "invariants", "histories")
_NO_CLIENT: tuple[Detector, ...] = ("tlc", "steps", "invariants")
_STEPS_ONLY: tuple[Detector, ...] = ("steps",)

_CANDIDATES = ("LeaderCandidateCompleteness", "PartitionLeaderCompleteness")

PARTITION_CATALOG: tuple[PartitionBug, ...] = (
    _other(
        "Z22",
        "MetadataLogMatching",
        title="the controller answers before it has committed",
        story="The reply goes out when the records are appended. A controller that is deposed "
        "loses them, and somebody has acted on them.",
        source="C0",
        boundary="controller write / reply",
        field="partition",
        scope="needs the controller quorum below the partition; the abstract controller commits "
        "at once",
    ),
    _bug(
        "Z23",
        Z23TruncateToHighWatermark,
        "StrongIsr",
        "WeakIsr",
        *_CANDIDATES,
        "PartitionLogMatching",
        source="KIP-101 case 1; KAFKA-1211",
        year=2016,
        replicas=2,
        field="highWatermark apart from log",
    ),
    _bug(
        "Z24",
        Z23TruncateToHighWatermark,
        "PartitionLogMatching",
        "PartitionEpochCacheSound",
        "NoCommittedRecordLost",
        source="KIP-101 case 2",
        year=2016,
        replicas=2,
        lossy=True,
        field="highWatermark apart from log, flushed",
    ),
    _bug(
        "Z25",
        Z25EndOffsetWithoutEpoch,
        "PartitionLogMatching",
        "StrongIsr",
        "PartitionEpochCacheSound",
        source="KIP-279; KAFKA-6361, PR 4882",
        year=2018,
        replicas=2,
        field="epochCache",
    ),
    _bug(
        "Z26",
        Z26NoFencing,
        "StrongIsr",
        *_CANDIDATES,
        source="KIP-320; KAFKA-6880",
        year=2018,
        field="leaderEpoch",
    ),
    _bug(
        "Z27",
        Z27FencedByLastEpochOnly,
        "StrongIsr",
        *_CANDIDATES,
        source="KIP-320, first version",
        year=2018,
        field="leaderEpoch apart from lastFetchedEpoch",
    ),
    _bug(
        "Z28",
        Z28JoinsBeforeEpochStart,
        "LeaderCandidateCompleteness",
        "StrongIsr",
        "PartitionLeaderCompleteness",
        source="KAFKA-7128, PR 5557",
        year=2018,
        field="epochStart apart from highWatermark",
    ),
    _bug(
        "Z29",
        Z29CountsDivergingFetch,
        "StrongIsr",
        "WeakIsr",
        *_CANDIDATES,
        source="KAFKA-13141, PR 11136",
        year=2021,
        field="remotes",
    ),
    _bug(
        "Z30",
        Z30UnfencedTruncation,
        *_CANDIDATES,
        "StrongIsr",
        source="KIP-320",
        year=2018,
        replicas=2,
        field="leaderEpoch, log",
    ),
    _bug(
        "Z31",
        Z31SameLeaderNotAsked,
        "PartitionLogMatching",
        "StrongIsr",
        source="KAFKA-7164, PR 5436",
        year=2018,
        replicas=2,
        field="lastFetchedEpoch",
    ),
    _bug(
        "Z32",
        Z32EpochStartNotRecorded,
        "EventuallyInSync",
        source="KAFKA-7415, PR 5678",
        year=2018,
        klass="liveness",
        replicas=2,
        field="epochCache apart from log",
    ),
    _bug(
        "Z33",
        Z33CommittedIsrOnly,
        "LeaderCandidateCompleteness",
        "StrongIsr",
        "PartitionLeaderCompleteness",
        source="KIP-497",
        year=2020,
        field="pending apart from isr",
    ),
    _bug(
        "Z34",
        Z34EagerShrink,
        "StrongIsr",
        *_CANDIDATES,
        source="KIP-497",
        year=2020,
        field="pending apart from isr",
    ),
    _bug(
        "Z35",
        Z35NoCompareAndSet,
        "ReplicationQuorumSuperset",
        "LeaderCandidateCompleteness",
        "StrongIsr",
        source="KIP-497; C12",
        year=2020,
        replicas=2,
        field="partitionEpoch apart from leaderEpoch",
    ),
    _bug(
        "Z36",
        Z36SeveralInFlight,
        "PendingAlterPartitionResolved",
        source="KAFKA-12686, PR 10561",
        year=2021,
        klass="liveness",
        replicas=2,
        detectors=_STEPS_ONLY,
        field="alterRequest",
        alone="it breaks no invariant, and the models of liveness send a proposal and answer it "
        "in one step, so that none is in flight",
    ),
    _bug(
        "Z37",
        Z37InactiveMayJoin,
        "ValidControllerState",
        source="KIP-841; KAFKA-13916, PR 12181, PR 12240",
        year=2022,
        replicas=2,
        detectors=_NO_CLIENT,
        field="image, registrations",
    ),
    _bug(
        "Z38",
        Z38BrokerEpochNotChecked,
        "LeaderCandidateCompleteness",
        "PartitionLeaderCompleteness",
        source="KIP-903; KAFKA-14139, PR 13408, PR 13489",
        year=2023,
        replicas=2,
        lossy=True,
        field="remotes (brokerEpoch), registrations",
    ),
    _bug(
        "Z39",
        Z39ProposesTheNewEpoch,
        "LeaderCandidateCompleteness",
        "PartitionLeaderCompleteness",
        source="KAFKA-15221, PR 14053",
        year=2023,
        replicas=2,
        lossy=True,
        field="pending (members' epochs) apart from alterRequest",
        boundary="propose / send",
    ),
    _other(
        "Z40",
        "PartitionLeaderCompleteness",
        "LeaderCandidateCompleteness",
        "NoCommittedRecordLost",
        title="the last replica standing",
        story="The ISR shrinks to one broker, which loses part of its log in a crash. Without "
        "eligible leader replicas it stays in the ISR, is elected again, and the others truncate "
        "what was committed.",
        source="KIP-966",
        boundary="isr_when_emptied; a crash that loses what was not flushed",
        field="isr, elr of the controller",
        configuration="elr_enabled = False, and one crash that loses records",
        lossy=True,
        detectors=("tlc", "invariants", "histories"),
    ),
    _bug(
        "Z41",
        Z41AdvancesBelowMinIsr,
        "LeaderCandidateCompleteness",
        "PartitionLeaderCompleteness",
        "AckedHasMinIsrCopies",
        source="KAFKA-15583, PR 14594",
        year=2023,
        field="highWatermark, isr",
    ),
    _bug(
        "Z42",
        Z42UncleanStaysEligible,
        "LeaderCandidateCompleteness",
        "PartitionLeaderCompleteness",
        source="KAFKA-18106, KAFKA-18635, PR 18045, PR 18277",
        year=2024,
        lossy=True,
        field="elr of the controller",
    ),
    _bug(
        "Z43",
        Z43DeadLastLeaderElected,
        "FencedNeverElected",
        "ValidControllerState",
        source="KAFKA-19522, PR 20200",
        year=2025,
        replicas=1,
        lossy=True,
        detectors=_NO_CLIENT,
        field="lastKnownLeader, registrations of the controller",
    ),
    _bug(
        "Z44",
        Z44HighWatermarkFirst,
        "ReadOnlyCommitted",
        "PartitionLogMatching",
        source="KAFKA-14704, PR 13230",
        year=2023,
        boundary="handler split: high watermark, then truncation",
        field="highWatermark apart from log",
    ),
    _bug(
        "Z45",
        Z45LastEpochLost,
        "PartitionLogMatching",
        "StrongIsr",
        source="KAFKA-15510, PR 14457",
        year=2023,
        replicas=2,
        field="lastFetchedEpoch apart from epochCache",
        detectors=_STEPS_ONLY,
        alone="in its model the states differ and nothing is broken: within an epoch the "
        "follower has been compared before",
    ),
    _bug(
        "Z46",
        Z46ResponseOutlivesEpoch,
        "PartitionLogMatching",
        "StrongIsr",
        source="KAFKA-18723, PR 18852",
        year=2025,
        field="log, leaderEpoch",
        detectors=_STEPS_ONLY,
        alone="in its model the states differ and nothing is broken: the next fetch is compared "
        "before it counts",
    ),
    _other(
        "Z47",
        "LeaderCandidateCompleteness",
        title="no fetch is needed in this epoch before joining",
        story="A replica is removed and added again in one metadata update; the leader reuses "
        "what it knew of the replica, whose log was wiped.",
        source="KIP-966",
        boundary="keeps_end_offsets, for a replica that was removed and added",
        field="remotes",
        scope="needs reassignment (C14); the replicas are a constant",
    ),
    _bug(
        "Z48",
        Z48OffsetsGoBack,
        "MonotonicListOffsets",
        source="KIP-207; KAFKA-2334, PR 5991",
        year=2018,
        replicas=2,
        field="highWatermark, epochStart",
    ),
    _bug(
        "Z49",
        Z49HighWatermarkBelowStart,
        "LogBounds",
        source="KAFKA-9491, PR 8037",
        year=2020,
        replicas=2,
        field="highWatermark, logStart",
    ),
    _bug(
        "Z50",
        Z50NoCheckAfterAppend,
        "AckedHasMinIsrCopies",
        "LeaderCandidateCompleteness",
        source="P19",
        replicas=3,
        field="parked",
    ),
    _bug(
        "Z51",
        Z51NotTriedAfterAlter,
        "EventuallyWriteAccepted",
        source="KAFKA-13091, PR 11245",
        year=2021,
        klass="liveness",
        replicas=2,
        field="highWatermark",
    ),
    _bug(
        "Z52",
        Z52WaitsForIneligible,
        "EventuallyWriteAccepted",
        source="KAFKA-15021, PR 13765",
        year=2023,
        klass="liveness",
        replicas=2,
        field="remotes (caughtUp), image",
    ),
    _other(
        "Z53",
        "PartitionLeaderCompleteness",
        "MonotonicTrueHighWatermark",
        "NoCommittedRecordLost",
        title="unclean election",
        story="A replica outside the ISR is elected when nobody else is alive, as configured; what "
        "was committed without it is gone.",
        source="C9",
        boundary="unclean_choices of the controller",
        field="recovering, isr of the controller",
        configuration="unclean_election = True",
        replicas=2,
        detectors=("invariants", "histories"),
    ),
    _other(
        "Z54",
        "AckedSurvives",
        title="a record acked by its leader alone is lost",
        story="With acks=1 the producer is told before anybody else has the record. A planned "
        "election is enough to lose it. Nothing else was promised.",
        source="KAFKA-20554; P18",
        boundary="append / replicate",
        field="log",
        configuration="acks = 1, and any election",
        replicas=2,
        detectors=("histories",),
        alone="the leader alone acknowledged, and nobody promised more: no state is wrong, only "
        "the client misses its record",
    ),
    _bug(
        "Z55",
        Z55RecoverySkipsBadBatch,
        "PartitionLogMatching",
        "LeaderCandidateCompleteness",
        source="P23",
        replicas=2,
        lossy=True,
        boundary="recovered_end; a crash may corrupt what was not flushed",
        field="corrupt, log",
    ),
    _bug(
        "Z56",
        Z56IncarnationNotChecked,
        "LeaderCandidateCompleteness",
        "WeakIsr",
        source="C2",
        replicas=2,
        lossy=True,
        boundary="registration_accepted; registration / its answer",
        field="incarnation, brokerEpoch",
    ),
    _other(
        "Z57",
        "PendingAlterPartitionResolved",
        title="an old controller answers with authority",
        story="A leader asks a controller that has been replaced and gets a final error; the "
        "proposal stays pending for ever.",
        source="KAFKA-14154, PR 12499; C12",
        boundary="leader_epoch_error, partition_epoch_error at an old controller",
        field="pending (refused)",
        klass="liveness",
        replicas=2,
        scope="needs two controllers; the abstract one is always the active one",
    ),
    _bug(
        "Z58",
        Z58NoDeduplication,
        "NoDuplicate",
        source="T1",
        replicas=1,
        field="producers",
    ),
    _bug(
        "Z59",
        Z59OneBatchKept,
        "EventuallyWriteAccepted",
        source="KAFKA-5494, PR 3743",
        year=2017,
        klass="liveness",
        replicas=1,
        detectors=_STEPS_ONLY,
        field="producers",
        alone="a wrong refusal breaks no invariant, and the models of liveness have no producer "
        "that sends again",
    ),
    _bug(
        "Z60",
        Z60ProducerStateKept,
        "PartitionLeaderCompleteness",
        "AckedHasMinIsrCopies",
        source="P14, P23",
        replicas=3,
        field="producers apart from log",
    ),
    _bug(
        "Z67",
        Z67KeepsEndOffsets,
        *_CANDIDATES,
        "StrongIsr",
        "WeakIsr",
        source="this kit; shown on Apache Kafka 4.3.1 (docs/divergences.md)",
        year=2026,
        boundary="keeps_end_offsets; several changes of metadata folded into one",
        field="remotes (endOffset)",
    ),
    _bug(
        "Z69",
        Z69MetadataClearsProposal,
        *_CANDIDATES,
        "ReplicationQuorumSuperset",
        "StrongIsr",
        source="this kit; shown on Apache Kafka 4.3.1 (docs/divergences.md)",
        year=2026,
        boundary="clears_pending; AlterPartition's answer / its record in the metadata",
        field="pending, partitionEpoch",
    ),
)
"""Every bug of the zoo of partitions and idempotent producers, by id."""

PARTITION_LIVENESS = (
    "EventuallyInSync",
    "EventuallyWriteAccepted",
    "PendingAlterPartitionResolved",
)
"""Properties above that are no invariants: something that must happen in the end."""

HISTORY_PROPERTIES = ("AckedSurvives",)
"""Properties above that only what clients saw can show: nobody promised them."""

_BY_ID = {each.id: each for each in PARTITION_CATALOG}


@contextmanager
def known(own: PartitionBug) -> Iterator[None]:
    """Within it, `partition_bug` knows one entry more: a substitution that is none of the zoo."""
    assert own.id not in _BY_ID, own.id
    _BY_ID[own.id] = own
    try:
        yield
    finally:
        del _BY_ID[own.id]


def partition_bug(id: str) -> PartitionBug:
    """The bug of this id, in capitals or not. Raises UnknownBug."""
    found = _BY_ID.get(id.upper())
    if found is None:
        raise UnknownBug(
            f"no bug {id!r} of a partition; known are {PARTITION_CATALOG[0].id} to "
            f"{PARTITION_CATALOG[-1].id}"
        )
    return found


def _replayable(id: str) -> PartitionBug:
    found = partition_bug(id)
    if found.scope:
        raise OutOfScope(f"{found.id} cannot be replayed: it {found.scope}")
    return found


def partition_rules_for(
    bug_id: str | None, constants: PartitionConstants, consulted: Consulted | None = None
) -> PartitionRules:
    """The rules with this bug in them, or the correct ones; probed if asked to be."""
    replacement = None if bug_id is None else _replayable(bug_id).replacement
    if replacement is None or not issubclass(replacement, PartitionRules):
        return PartitionRules(constants)
    if consulted is None:
        return replacement(constants)
    kind = probed(replacement, PARTITION_RULES, PartitionRules(constants), consulted)
    return kind(constants)


def broker_handlers_for(
    bug_id: str | None, constants: PartitionConstants, consulted: Consulted | None = None
) -> BrokerHandlers:
    """The handlers of brokers with this bug in them, or in their rules, or the correct ones."""
    rules = partition_rules_for(bug_id, constants, consulted)
    replacement = None if bug_id is None else _replayable(bug_id).replacement
    if replacement is None or not issubclass(replacement, BrokerHandlers):
        return BrokerHandlers(constants, rules)
    if consulted is None:
        return replacement(constants, rules)
    correct = BrokerHandlers(constants, PartitionRules(constants))
    return probed(replacement, HANDLER_NAMES, correct, consulted)(constants, rules)
