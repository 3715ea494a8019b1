"""The bug zoo of the controller quorum: what each bug is, what it breaks, and how to have it.

Law of this file: everything that anybody says about a bug is said here or in the bug's own file,
once. A bug is a substitution: a subclass of QuorumRules that overrides some rules, and nothing
else. Its story is the prose at the top of that subclass's file.

Ids are those of the bug zoo in the protocol rules, section 7.1. The overlays in specs/bugs carry
the same ids and replace the same rules.
"""

from __future__ import annotations

import builtins
import difflib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import msgspec

from reference.bugs.probing import Consulted, probed
from reference.bugs.z01_vote_not_persisted import Z01VoteNotPersisted
from reference.bugs.z02_leader_resumes_its_epoch import Z02LeaderResumesItsEpoch
from reference.bugs.z03_no_flush_before_fetch import Z03NoFlushBeforeFetch
from reference.bugs.z04_commits_older_epochs import Z04CommitsOlderEpochs
from reference.bugs.z05_own_epoch_off_by_one import Z05OwnEpochOffByOne
from reference.bugs.z06_vote_without_log_check import Z06VoteWithoutLogCheck
from reference.bugs.z07_fetch_without_divergence import Z07FetchWithoutDivergence
from reference.bugs.z08_counts_diverging_fetch import Z08CountsDivergingFetch
from reference.bugs.z09_no_check_quorum import Z09NoCheckQuorum
from reference.bugs.z10_sole_voter_checks_quorum import Z10SoleVoterChecksQuorum
from reference.bugs.z12_followers_refuse_pre_votes import Z12FollowersRefusePreVotes
from reference.bugs.z13_vote_forgotten import Z13VoteForgotten
from reference.bugs.z14_leader_forgotten import Z14LeaderForgotten
from reference.bugs.z15_resigned_keeps_its_epoch import Z15ResignedKeepsItsEpoch
from reference.bugs.z16_resigned_announced import Z16ResignedAnnounced
from reference.bugs.z20_epoch_cache_kept import Z20EpochCacheKept
from reference.bugs.z68_loser_stands_again import Z68LoserStandsAgain
from reference.core.rules import RULES, QuorumRules
from reference.core.types import Constants

Class: TypeAlias = Literal["safety", "liveness"]
Detector: TypeAlias = Literal["tlc", "steps", "invariants", "histories"]
"""TLC's properties; the relation of recorded steps; the run's invariants; what clients saw."""


class Bug(msgspec.Struct, frozen=True, kw_only=True):
    """One bug of the zoo."""

    id: str
    title: str
    story: str
    source: str
    year: int | None
    """When the bug was reported or mended, where that is known."""
    replacement: type[QuorumRules] | None
    """The rules with the bug in them; None where the bug is out of scope."""
    property: str
    """The first property that names it: an invariant of core, or a liveness property."""
    also: tuple[str, ...] = ()
    """Further properties that it breaks, or may break in the same run."""
    klass: Class
    voters: int
    """The smallest cluster that shows it."""
    detectors: tuple[Detector, ...]
    """Who can see it. Not `steps` where the bug is that a step never happens."""
    alone: str = ""
    """Why one oracle alone can see it, or has so far; empty where two have."""
    scope: str = ""
    """Why it cannot be replayed yet; empty when it can."""

    @builtins.property
    def rules(self) -> dict[str, Callable[..., Any]]:
        """The replaced rules by name, in the order of `RULES`."""
        if self.replacement is None:
            return {}
        own = vars(self.replacement)
        return {name: own[name] for name in RULES if name in own}

    @builtins.property
    def in_scope(self) -> bool:
        return self.replacement is not None


def _bug(
    id: str,
    replacement: type[QuorumRules],
    *,
    source: str,
    year: int | None,
    klass: Class,
    property: str,
    also: tuple[str, ...] = (),
    detectors: tuple[Detector, ...],
    voters: int = 3,
    alone: str = "",
) -> Bug:
    """An entry whose title and story are the prose of the replacement's file."""
    prose = sys.modules[replacement.__module__].__doc__ or ""
    title, _, story = prose.partition("\n\n")
    return Bug(
        id=id,
        title=title.split(": ", 1)[1].rstrip("."),
        story=" ".join(story.split()),
        source=source,
        year=year,
        replacement=replacement,
        property=property,
        also=also,
        klass=klass,
        voters=voters,
        detectors=detectors,
        alone=alone,
    )


def _out_of_scope(
    id: str,
    *,
    title: str,
    story: str,
    source: str,
    property: str,
    voters: int,
    scope: str,
    klass: Class = "safety",
) -> Bug:
    return Bug(
        id=id,
        title=title,
        story=story,
        source=source,
        year=None,
        replacement=None,
        property=property,
        klass=klass,
        voters=voters,
        detectors=(),
        scope=scope,
    )


_ALL: tuple[Detector, ...] = ("tlc", "steps", "invariants", "histories")
_NO_CLIENT: tuple[Detector, ...] = ("tlc", "steps", "invariants")

CATALOG: tuple[Bug, ...] = (
    _bug(
        "Z01",
        Z01VoteNotPersisted,
        source="KIP-595; confluentinc/kafka PR 302",
        year=2020,
        klass="safety",
        property="VoteOnce",
        also=("ElectionSafety", "NoIllegalState"),
        detectors=_NO_CLIENT,
    ),
    _bug(
        "Z02",
        Z02LeaderResumesItsEpoch,
        source="KAFKA-10527, PR 9348",
        year=2020,
        klass="safety",
        property="UniqueEntry",
        also=("LogMatching", "DurableMajority", "CommittedSurvives"),
        detectors=_ALL,
    ),
    _bug(
        "Z03",
        Z03NoFlushBeforeFetch,
        source="KAFKA-10533, PR 9352",
        year=2020,
        klass="safety",
        property="DurableMajority",
        also=("CommittedSurvives", "LeaderCompleteness", "MonotonicHighWatermark"),
        detectors=_ALL,
    ),
    _bug(
        "Z04",
        Z04CommitsOlderEpochs,
        source="Raft (2014), figure 8; KIP-595",
        year=2014,
        klass="safety",
        property="LeaderCompleteness",
        also=("MonotonicHighWatermark", "CommittedSurvives"),
        detectors=_ALL,
    ),
    _bug(
        "Z05",
        Z05OwnEpochOffByOne,
        source="KAFKA-12619, PR 10481",
        year=2021,
        klass="safety",
        property="LeaderCompleteness",
        also=("MonotonicHighWatermark", "CommittedSurvives"),
        detectors=_ALL,
    ),
    _bug(
        "Z06",
        Z06VoteWithoutLogCheck,
        source="Raft (2014), 5.4.1; KIP-595",
        year=2014,
        klass="safety",
        property="LeaderCompleteness",
        also=("CommittedSurvives",),
        detectors=_ALL,
    ),
    _bug(
        "Z07",
        Z07FetchWithoutDivergence,
        source="KIP-595",
        year=None,
        klass="safety",
        property="LogMatching",
        also=("LogMatchingCommitted", "MajorityReachedHighWatermark", "CommittedSurvives"),
        detectors=_ALL,
    ),
    _bug(
        "Z08",
        Z08CountsDivergingFetch,
        source="KIP-595",
        year=None,
        klass="safety",
        property="MajorityReachedHighWatermark",
        also=("DurableMajority", "LeaderCompleteness", "CommittedSurvives"),
        detectors=_ALL,
    ),
    _bug(
        "Z09",
        Z09NoCheckQuorum,
        source="KAFKA-15489, PR 14428",
        year=2023,
        klass="liveness",
        property="IsolatedLeaderResigns",
        also=("ValuesEventuallyAcked",),
        detectors=("tlc", "invariants"),
    ),
    _bug(
        "Z10",
        Z10SoleVoterChecksQuorum,
        source="KAFKA-16144, PR 15235",
        year=2024,
        klass="liveness",
        property="FollowedLeaderStays",
        detectors=("tlc", "steps"),
        voters=1,
    ),
    _out_of_scope(
        "Z11",
        title="a leader outside the voter set counts itself",
        story="A leader that removed itself from the voter set still counts itself for the high "
        "watermark, so that less than a majority commits, or for check-quorum, so that it "
        "never resigns.",
        source="KAFKA-16530, KAFKA-16531, PR 16079, PR 16211",
        property="MajorityReachedHighWatermark",
        voters=3,
        scope="needs voters to be removed (Q20); the voter set is a constant",
    ),
    _bug(
        "Z12",
        Z12FollowersRefusePreVotes,
        source="KAFKA-17641, PR 17807",
        year=2024,
        klass="liveness",
        property="EventuallyLeaderElected",
        also=("NotStuckInProspective",),
        detectors=("tlc", "steps"),
    ),
    _bug(
        "Z13",
        Z13VoteForgotten,
        source="KAFKA-17642, PR 18240",
        year=2025,
        klass="safety",
        property="VoteOnce",
        also=("ElectionSafety", "NoIllegalState"),
        detectors=_NO_CLIENT,
    ),
    _bug(
        "Z14",
        Z14LeaderForgotten,
        source="KAFKA-16529, PR 16454",
        year=2024,
        klass="safety",
        property="VoteOnce",
        also=("ElectionSafety", "NoIllegalState"),
        detectors=_NO_CLIENT,
    ),
    _bug(
        "Z15",
        Z15ResignedKeepsItsEpoch,
        source="KAFKA-18379, PR 18789, PR 19236",
        year=2025,
        klass="safety",
        property="NoIllegalState",
        also=("EventuallyLeaderElected",),
        detectors=_NO_CLIENT,
    ),
    _bug(
        "Z16",
        Z16ResignedAnnounced,
        source="KAFKA-17333, PR 16900",
        year=2024,
        klass="safety",
        property="AnnouncedLeaderIsCaughtUp",
        detectors=_NO_CLIENT,
        voters=1,
    ),
    _out_of_scope(
        "Z17",
        title="a disk is replaced under the same node id",
        story="A voter returns empty under its old id and helps to elect a node without "
        "committed entries. Directory ids make it a new replica, which does not vote.",
        source="KIP-853, PR 10309",
        property="LeaderCompleteness",
        voters=3,
        scope="needs directory ids and dynamic voters (Q20); a voter is its id",
    ),
    _out_of_scope(
        "Z18",
        title="a voter change before the leader's own epoch has committed",
        story="Two leaders in turn append voter changes from different uncommitted bases, and "
        "the majorities of the two sets do not meet.",
        source="KIP-853; raft-dev, single-server membership changes",
        property="ElectionSafety",
        voters=4,
        scope="needs voter changes (Q20); the voter set is a constant",
    ),
    _out_of_scope(
        "Z19",
        title="two voter changes in flight",
        story="A second change is appended before the first commits, and their majorities are "
        "disjoint.",
        source="KIP-853",
        property="ElectionSafety",
        voters=3,
        scope="needs voter changes (Q20); the voter set is a constant",
    ),
    _bug(
        "Z20",
        Z20EpochCacheKept,
        source="KAFKA-10706, PR 9633",
        year=2020,
        klass="liveness",
        property="EventuallyFullyReplicated",
        also=("EpochCacheSound",),
        detectors=_NO_CLIENT,
    ),
    _out_of_scope(
        "Z21",
        title="followers that have fetched refuse the successor that their leader named",
        story="A leader resigns and names its preferred successors. Followers that have fetched "
        "from it go on to refuse pre-votes, so that with four voters or more the first successor "
        "loses a round; a later round is won.",
        source="KAFKA-20895, PR 23168",
        property="EventuallyLeaderElected",
        voters=4,
        scope="delays an election by a round and breaks no property of the kit; it takes four "
        "voters, and the models have three",
        klass="liveness",
    ),
    _bug(
        "Z68",
        Z68LoserStandsAgain,
        source="this kit; QuorumState.initialize with the vote kept within the epoch",
        year=2026,
        klass="safety",
        property="NoIllegalState",
        detectors=_NO_CLIENT,
    ),
)
"""Every bug of the zoo, by id."""

LIVENESS_PROPERTIES = (
    "EventuallyFullyReplicated",
    "EventuallyLeaderElected",
    "FollowedLeaderStays",
    "IsolatedLeaderResigns",
    "NotStuckInProspective",
    "ValuesEventuallyAcked",
)
"""Properties above that are no invariants of states: what must happen in the end, and that a leader
is not given up without need."""

_BY_ID = {each.id: each for each in CATALOG}


class UnknownBug(ValueError):
    """There is no bug of this id. The message names the nearest ids."""


class OutOfScope(ValueError):
    """The bug is known and cannot be replayed yet. The message says why."""


@contextmanager
def known(own: Bug) -> Iterator[None]:
    """Within it, `bug` knows one entry more: a substitution that is not part of the zoo."""
    assert own.id not in _BY_ID, own.id
    _BY_ID[own.id] = own
    try:
        yield
    finally:
        del _BY_ID[own.id]


def bug(id: str) -> Bug:
    """The bug of this id, in capitals or not. Raises UnknownBug with the nearest ids."""
    found = _BY_ID.get(id.upper())
    if found is None:
        titles = {each.id: each.title for each in CATALOG}
        raise UnknownBug(f"no bug {id!r}{nearest(id, titles)}")
    return found


def nearest(id: str, titles: Mapping[str, str]) -> str:
    """The ids that were perhaps meant, in words: those alike, and those of bugs with such a title.

    titles: of each known bug, by id.
    """
    wanted = id.strip()
    near = [f"Z{int(wanted[1:]):02d}"] if wanted[1:].isdecimal() else []
    near += difflib.get_close_matches(wanted.upper(), titles, n=3, cutoff=0.6)
    near += [each for each, title in titles.items() if wanted and wanted.lower() in title.lower()][
        :3
    ]
    known = list(dict.fromkeys(name for name in near if name in titles))
    if not known:
        ids = sorted(titles)
        return f"; known are {ids[0]} to {ids[-1]}"
    return f"; did you mean {', '.join(known)}?"


def rules_for(
    bug_id: str | None, constants: Constants, consulted: Consulted | None = None
) -> QuorumRules:
    """The rules with this bug in them, or the correct ones for None; probed if asked to be."""
    if bug_id is None:
        return QuorumRules(constants)
    found = bug(bug_id)
    if found.replacement is None:
        raise OutOfScope(f"{found.id} cannot be replayed: it {found.scope}")
    if consulted is None:
        return found.replacement(constants)
    kind = probed(found.replacement, RULES, QuorumRules(constants), consulted)
    return kind(constants)
