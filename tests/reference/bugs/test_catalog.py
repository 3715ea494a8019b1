"""The known bugs: complete, consistent in themselves, with the handlers and with the overlays."""

from __future__ import annotations

import inspect
import re
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from kraftcheck.reference.bugs.bug import BASES, Bug, Detector
from kraftcheck.reference.bugs.catalog import (
    CATALOG,
    OutOfScope,
    UnknownBug,
    bug,
    bugs_of,
    rules_for,
)
from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.controllers.properties import PROPERTIES as OF_CONTROLLERS
from kraftcheck.reference.groups.classic.properties import PROPERTIES as OF_CLASSIC
from kraftcheck.reference.groups.commits.properties import PROPERTIES as OF_COMMITS
from kraftcheck.reference.groups.properties import PROPERTIES as OF_GROUPS
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.compaction.properties import PROPERTIES as OF_COMPACTION
from kraftcheck.reference.partition.hosting.properties import PROPERTIES as OF_HOSTING
from kraftcheck.reference.partition.invariants import PARTITION_INVARIANT_NAMES
from kraftcheck.reference.partition.reassignment.properties import PROPERTIES as OF_REASSIGNMENT
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.protocols import PROTOCOLS, folder_of
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.invariants import INVARIANT_NAMES
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.snapshots.properties import PROPERTIES as OF_SNAPSHOTS
from kraftcheck.reference.quorum.voters.properties import PROPERTIES as OF_VOTERS
from kraftcheck.reference.shares.properties import PROPERTIES as OF_SHARES
from kraftcheck.reference.shares.sessions.properties import PROPERTIES as OF_SESSIONS
from kraftcheck.reference.shares.sharegroup.properties import PROPERTIES as OF_SHAREGROUP
from kraftcheck.reference.transactions.properties import PROPERTIES as OF_TRANSACTIONS
from tests.reference.partition import cluster as partition_cluster
from tests.reference.partition.walks import PartitionWalk
from tests.reference.quorum.builders import THREE
from tests.reference.quorum.walks import walk

INVARIANTS = {
    "quorum": INVARIANT_NAMES,
    "quorum41": INVARIANT_NAMES,
    "partition": PARTITION_INVARIANT_NAMES,
    "transactions": tuple([each.name for each in OF_TRANSACTIONS]),
    "groups": tuple([each.name for each in OF_GROUPS]),
    "commits": tuple([each.name for each in OF_COMMITS]),
    "classic": tuple([each.name for each in OF_CLASSIC]),
    "voters": tuple([each.name for each in OF_VOTERS]),
    "snapshots": tuple([each.name for each in OF_SNAPSHOTS]),
    "reassignment": tuple([each.name for each in OF_REASSIGNMENT]),
    "hosting": tuple([each.name for each in OF_HOSTING]),
    "compaction": tuple([each.name for each in OF_COMPACTION]),
    "shares": tuple([each.name for each in OF_SHARES]),
    "sessions": tuple([each.name for each in OF_SESSIONS]),
    "sharegroup": tuple([each.name for each in OF_SHAREGROUP]),
    "controllers": tuple([each.name for each in OF_CONTROLLERS]),
}
LIVENESS = {
    "ChangeResolved",
    "Converges",
    "DecisionCompletes",
    "EventuallyFullyReplicated",
    "EventuallyInSync",
    "EventuallyLeaderElected",
    "InitializingEnds",
    "EventuallyWriteAccepted",
    "FollowedLeaderStays",
    "IsolatedLeaderResigns",
    "NoHangingTransaction",
    "NotStuckInProspective",
    "PendingAlterPartitionResolved",
    "ValuesEventuallyAcked",
}
"""What must happen in the end, and that a leader is not given up without need."""
OF_HISTORIES = {"AckedSurvives"}
"""What only clients can miss: nobody promised it."""
OF_MESSAGES = {
    *("AnswerAfterCommit", "CommitDurable", "GapFree"),
    *("OnlyOwnErrorRemoves", "EpochBeginsAtZero"),
}
"""What TLC alone sees: it is said of messages under way, or holds where they come in order; or, the
last, of what producers send, which runs alone see."""

REPLACED = [each for each in CATALOG if each.replacement is not None]
of_each = pytest.mark.parametrize("entry", REPLACED, ids=lambda entry: entry.id)


def test_every_bug_is_here_once_in_order() -> None:
    quorum = [each.id for each in bugs_of("quorum")]
    assert quorum == [
        f"Z{n:02d}" for n in (*range(1, 11), *range(12, 17), 18, 20, 21, 68, 302, 303, 304)
    ]
    partition = [each.id for each in bugs_of("partition")]
    assert partition == [
        f"Z{n}" for n in (*range(22, 47), *range(48, 61), 67, 69, 155, 170, 194, 308, 309, 310)
    ]
    transactions = [each.id for each in bugs_of("transactions")]
    numbers = (*range(61, 67), *range(70, 81), *range(82, 88), 89, 163, 165, 166, 168, 169)
    numbers = (*numbers, *range(172, 178), 200, *range(247, 250), 311)
    assert transactions == [f"Z{n}" for n in numbers]
    groups = [each.id for each in bugs_of("groups")]
    numbers = (*range(90, 99), *range(100, 110), 180, 181, 187, 202, 210, *range(215, 222))
    numbers = (*numbers, *range(240, 247), 250, 313)
    assert groups == [f"Z{n}" for n in numbers]
    commits = [each.id for each in bugs_of("commits")]
    assert commits == ["Z182", "Z183", "Z184"]
    classic = [each.id for each in bugs_of("classic")]
    assert classic == ["Z99", "Z185"]
    voters = [each.id for each in bugs_of("voters")]
    numbers = (11, 17, 19, 110, *range(112, 118), 123, 124, 164, 190, 191, 192, 201)
    assert voters == [f"Z{n}" for n in numbers]
    snapshots = [each.id for each in bugs_of("snapshots")]
    assert snapshots == [f"Z{n}" for n in (111, *range(119, 123), 128, 312)]
    reassignment = [each.id for each in bugs_of("reassignment")]
    assert reassignment == [f"Z{n}" for n in (47, *range(130, 136), 160, 193, 305)]
    hosting = [each.id for each in bugs_of("hosting")]
    assert hosting == [f"Z{n}" for n in (*range(125, 128), 129, *range(136, 140), 300, 301)]
    compaction = [each.id for each in bugs_of("compaction")]
    assert compaction == [f"Z{n}" for n in range(195, 200)]
    shares = [each.id for each in bugs_of("shares")]
    assert shares == [f"Z{n}" for n in (*range(410, 417), *range(420, 429), *range(430, 436))]
    sessions = [each.id for each in bugs_of("sessions")]
    assert sessions == [f"Z{n}" for n in range(440, 447)]
    sharegroup = [each.id for each in bugs_of("sharegroup")]
    assert sharegroup == [f"Z{n}" for n in range(450, 456)]
    controllers = [each.id for each in bugs_of("controllers")]
    assert controllers == [f"Z{n}" for n in range(460, 466)]
    quorum41 = [each.id for each in bugs_of("quorum41")]
    assert quorum41 == ["Z167"]
    known = [
        *quorum,
        *quorum41,
        *partition,
        *transactions,
        *groups,
        *commits,
        *classic,
        *voters,
        *snapshots,
        *reassignment,
        *hosting,
        *compaction,
        *shares,
        *sessions,
        *sharegroup,
        *controllers,
    ]
    assert [each.id for each in CATALOG] == sorted(known, key=lambda id: int(id[1:]))
    assert [each.id for each in CATALOG if each.scope] == ["Z18", "Z21", "Z57", "Z303"]
    assert [each.id for each in CATALOG if each.is_control] == [
        *("Z40", "Z53", "Z54", "Z64", "Z75", "Z124", "Z164")
    ]


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.id)
def test_an_entry_says_what_there_is_to_say(entry: Bug) -> None:
    assert re.fullmatch(r"Z\d\d|Z[1234]\d\d", entry.id)
    assert entry.title and entry.source and entry.story.endswith(".")
    assert "\n" not in entry.title + entry.story
    assert bool(entry.boundary and entry.field) or entry.id in ("Z18", "Z21")
    invariants = INVARIANTS[entry.protocol]
    assert set(entry.properties) <= {*invariants, *LIVENESS, *OF_HISTORIES, *OF_MESSAGES}
    assert (entry.klass == "liveness") == (entry.property in LIVENESS)
    assert set(entry.detectors) <= set(get_args(Detector))
    kinds = [entry.replacement is not None, entry.is_control, not entry.in_scope]
    assert kinds.count(True) == 1
    assert bool(entry.detectors) == entry.in_scope
    assert 1 <= entry.nodes <= 5


def test_every_property_beside_the_invariants_is_some_bugs() -> None:
    named = {name for each in CATALOG for name in each.properties}
    rest = named - set(chain.from_iterable(INVARIANTS.values()))
    assert rest == LIVENESS | OF_HISTORIES | OF_MESSAGES


@of_each
def test_a_bug_is_something_replaced_and_nothing_else(entry: Bug) -> None:
    own = {name for name in vars(entry.replacement) if not name.startswith("__")}
    assert entry.base is not None
    assert own == set(entry.replaces) <= set(BASES[entry.base].names) and own
    for name, replaced in entry.replaces.items():
        assert inspect.signature(replaced) == inspect.signature(getattr(entry.base, name))


@of_each
def test_its_class_bears_its_id(entry: Bug) -> None:
    """Z24 is Z23 in other circumstances."""
    assert entry.replacement is not None
    assert entry.replacement.__name__.startswith("Z23" if entry.id == "Z24" else entry.id)


# --- Looking up


def test_a_bug_is_found_by_its_id() -> None:
    assert bug("Z05").title == bug("z05 ").title
    assert type(rules_for(QuorumRules, "Z05", THREE)) is bug("Z05").replacement
    assert type(rules_for(QuorumRules, None, THREE)) is QuorumRules
    three = partition_cluster.THREE
    assert type(rules_for(PartitionRules, "Z28", three)) is bug("Z28").replacement
    assert type(rules_for(PartitionRules, None, three)) is PartitionRules
    assert type(broker_handlers_for("Z44", three)) is bug("Z44").replacement
    assert type(broker_handlers_for("Z28", three)) is BrokerHandlers
    assert type(broker_handlers_for("Z28", three).rules) is bug("Z28").replacement
    assert type(broker_handlers_for("Z40", three).rules) is PartitionRules


@pytest.mark.parametrize(
    ("asked", "protocol", "near"),
    [
        *[("Z1", "quorum", "Z01"), ("z99", "quorum", "Z09"), ("Z22", "quorum", "Z21")],
        *[("fetch", "quorum", "Z07, Z08"), ("", "quorum", "Z01 to Z304")],
        *[("Z01", "partition", "of the partition"), ("", "partition", "Z22 to Z310")],
        *[("Z6", None, "Z06"), ("z88", None, "Z98, Z89, Z87"), ("unclean election", None, "Z53")],
        *[("fencing", None, "the known bugs are Z01")],
    ],
)
def test_an_unknown_id_is_answered_with_the_nearest(
    asked: str, protocol: str | None, near: str
) -> None:
    with pytest.raises(UnknownBug, match=near):
        bug(asked, protocol)


def test_what_is_out_of_scope_says_why() -> None:
    with pytest.raises(OutOfScope, match="Z21 cannot be replayed: it only delays an election"):
        rules_for(QuorumRules, "Z21", THREE)
    with pytest.raises(OutOfScope, match="Z57 cannot be replayed: it needs two controllers"):
        rules_for(PartitionRules, "Z57", partition_cluster.THREE)
    with pytest.raises(UnknownBug):
        rules_for(QuorumRules, "Z28", THREE)


# --- The probe (that every bug does something is in test_witnesses.py)


def test_a_probe_that_was_never_asked_is_not_effective() -> None:
    consulted = Consulted()
    rules_for(QuorumRules, "Z05", THREE, consulted)
    assert not consulted.effective
    assert consulted.asked == {"covers_own_epoch": 0}


@pytest.mark.parametrize("id", [e.id for e in REPLACED if e.base is QuorumRules])
def test_probing_changes_no_answer(id: str) -> None:
    plain = QuorumHandlers(THREE, rules_for(QuorumRules, id, THREE))
    probed = QuorumHandlers(THREE, rules_for(QuorumRules, id, THREE, Consulted()))
    for one, other in zip(walk(plain, 3, 80), walk(probed, 3, 80), strict=True):
        assert one.outcome == other.outcome


@pytest.mark.parametrize("id", [e.id for e in REPLACED if e.base is PartitionRules])
def test_probing_changes_no_answer_of_a_partition(id: str) -> None:
    consulted, three = Consulted(), partition_cluster.THREE
    plain = PartitionWalk(three, 3, rules_for(PartitionRules, id, three))
    probed = PartitionWalk(three, 3, rules_for(PartitionRules, id, three, consulted))
    for one, other in zip(plain.steps(80), probed.steps(80), strict=True):
        assert one.outcome == other.outcome
    assert set(consulted.asked) == set(bug(id).replaces)


# --- Elsewhere


def overlaid(path: Path) -> dict[str, set[str]]:
    """By bug, the rules of which a module has other ones (`Z01_PersistedQuorumState`), or handlers
    (`Z44_Step_HandleReplicaFetchResponse`).
    """
    found: dict[str, set[str]] = {}
    text = path.read_text("utf-8")
    for id, name in re.findall(r"^(Z\d\d+)_(?:Step_)?(\w+)", text, re.MULTILINE):
        found.setdefault(id, set()).add(re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
    return found


def disagreements(specs: Path) -> list[str]:
    """Overlays that no entry matches, or that replace other rules than it, of the protocols that
    have a reference.
    """
    found = []
    replaced = {e.id: {*e.replaces} for e in REPLACED}
    for folder in dict.fromkeys(folder_of(protocol.name) for protocol in PROTOCOLS):
        for path in sorted((specs / folder / "bugs").glob("*.tla")):
            for id, names in overlaid(path).items():
                if id not in replaced:
                    found.append(f"{id} of {path.stem}: not in the catalogue")
                elif names != replaced[id]:
                    found.append(f"{id} of {path.stem}: replaces {sorted(names)}")
    return found


def test_the_overlays_of_the_specs_replace_the_same_rules(specs_dir: Path) -> None:
    assert sum(len(overlaid(path)) for path in specs_dir.rglob("bugs/*.tla")) > 150
    assert disagreements(specs_dir) == []


def test_an_overlay_that_differs_is_reported(tmp_path: Path) -> None:
    bugs = tmp_path / "quorum" / "bugs"
    bugs.mkdir(parents=True)
    text = "Z06_VoteGranted(row, m) == TRUE\nZ999_LogOk(row, m) == TRUE\n"
    (bugs / "QuorumBugs.tla").write_text(text, "utf-8")
    assert disagreements(tmp_path) == [
        "Z06 of QuorumBugs: replaces ['vote_granted']",
        "Z999 of QuorumBugs: not in the catalogue",
    ]


def test_handlers_know_of_no_bug(repo_root: Path) -> None:
    folders = [*map(Path, ("kit", "clients", "cluster")), *(folder_of(p.name) for p in PROTOCOLS)]
    files = [path for of in folders for path in (repo_root / "reference" / of).glob("*.py")]
    assert len(files) > 25
    for path in files:
        text = path.read_text("utf-8")
        assert (
            "kraftcheck.reference.bugs " not in text
            and "import kraftcheck.reference.bugs" not in text
        )
        assert not re.search(r"\bZ\d\d+\b", text), path
