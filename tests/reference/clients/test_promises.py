"""The table of promises: every row applies somewhere and is needed, and says the truth of Kafka."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kraftcheck.reference.clients.promises import (
    ANYTHING_CLEAN,
    NOTHING,
    TABLE,
    Configuration,
    Envelope,
    Level,
    Promise,
    Row,
    level_named,
    promised,
    spared,
    together,
    unseen,
)
from tests.reference.clients.tables import another_table

CHOICES: dict[str, tuple[Any, ...]] = {
    "log": ("partition", "metadata"),
    "acks": ("0", "1", "all"),
    "idempotence": (True, False),
    "transactions": (True, False),
    "elr": (True, False),
    "isolation": ("read_uncommitted", "read_committed"),
    "reads_from": ("leader", "follower", "any"),
    "consumers": ("assign", "subscribe"),
    "one_client": (True, False),
    "asks_latest": (True, False),
    "compaction": ("none", "keys-unknown"),
    "late_requests": (True, False),
}
CONFIGURATIONS = [
    Configuration(**dict(zip(CHOICES, chosen, strict=True)))
    for chosen in itertools.product(*CHOICES.values())
]
ENVELOPES = [
    NOTHING,
    Envelope(leader_moves=1),
    Envelope(unclean_moves=1),
    Envelope(lossy=1),
    Envelope(lossy=2, leader_moves=1),
    Envelope(disks_lost=1),
    Envelope(zombie=True),
    Envelope(expired=True),
]
SHOW_TOO_MUCH = ("read-uncommitted", "late-request")
"""Rows below linearizable because reads show what was aborted."""
LEADER, FOLLOWER = Configuration(one_client=False), Configuration(reads_from="follower")


def told(promise: Promise) -> tuple[Any, ...]:
    """A promise without what only explains it."""
    allowed = frozenset(promise.allowed)
    return (*promise[:5], allowed)


# -- The table itself


def test_rows_have_names_of_their_own_and_say_why() -> None:
    assert len({row.id for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert row.when and row.because and row.source, row.id
        takes = row.nothing or row.allows or not row.durable or row.level < Level.LINEARIZABLE
        assert takes, f"{row.id} takes nothing away"


def needless(table: tuple[Row, ...]) -> list[str]:
    """The rows without which every configuration is promised the same."""
    asked = [*CONFIGURATIONS[::7], *CONFIGURATIONS[1::11], Configuration(consumers="share")]
    cases = list(itertools.product(asked, ENVELOPES))
    with another_table(table):
        before = [told(promised(*case)) for case in cases]
    found = []
    for row in table:
        touched = ((at, case) for at, case in enumerate(cases) if row.applies(*case))
        with another_table(tuple(each for each in table if each is not row)):
            if not any(told(promised(*case)) != before[at] for at, case in touched):
                found.append(row.id)
    return found


def test_every_row_is_needed() -> None:
    assert needless(TABLE) == []


def test_a_row_that_is_not_needed_is_noticed() -> None:
    again = TABLE[0]._replace(id="again")
    never = TABLE[0]._replace(id="never", applies=lambda c, e: False)
    assert set(needless((*TABLE, again, never))) == {"unclean", "again", "never"}


def test_a_weaker_level_says_which_anomalies_come_of_it() -> None:
    """Below linearizable, reads are stale somehow; nothing else is excused by a level."""
    for row in TABLE:
        if row.level < Level.LINEARIZABLE and row.id not in SHOW_TOO_MUCH:
            assert "stale-read" in row.allows, row.id
            back = row.level < Level.SEQUENTIAL
            assert ("session-regress" in row.allows) is back, row.id
        if not row.durable:
            assert {"lost-write", "unseen"} <= set(row.allows), row.id
        if not row.ordered:
            assert "append-order" in row.allows, row.id


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_more_trouble_never_promises_more(envelope: Envelope) -> None:
    for configuration in CONFIGURATIONS[::5]:
        calm, troubled = promised(configuration), promised(configuration, envelope)
        assert troubled.level <= calm.level
        assert troubled.nothing or set(calm.allowed) <= set(troubled.allowed)
        assert troubled.durable <= calm.durable and troubled.ordered <= calm.ordered
        kept = (troubled.durable, troubled.ordered, troubled.exactly_once)
        assert not (troubled.nothing and any(kept))


# -- What Kafka promises


def test_without_trouble_the_defaults_promise_everything() -> None:
    found = promised(Configuration())
    assert found.level == Level.LINEARIZABLE and found.durable and found.ordered
    assert found.exactly_once and not found.nothing
    assert set(found.allowed) == {"int-send-skip"}
    assert found.because.startswith("nothing weakens it: ")


@pytest.mark.parametrize(
    ("configuration", "envelope", "level"),
    [
        (LEADER, Envelope(leader_moves=1), Level.ORDERED_SEQUENTIAL),
        (Configuration(), Envelope(leader_moves=1), Level.DURABLE_PREFIX),
        (
            Configuration(one_client=False, asks_latest=True),
            Envelope(leader_moves=1),
            Level.DURABLE_PREFIX,
        ),
        (Configuration(one_client=False, asks_latest=True), NOTHING, Level.LINEARIZABLE),
        (
            Configuration(one_client=False, goes_back=True),
            Envelope(leader_moves=1),
            Level.DURABLE_PREFIX,
        ),
        (Configuration(one_client=False, goes_back=True), NOTHING, Level.LINEARIZABLE),
        (
            Configuration(reads_from="follower", one_client=False, asks_latest=True),
            NOTHING,
            Level.DURABLE_PREFIX,
        ),
        (LEADER, ANYTHING_CLEAN, Level.DURABLE_PREFIX),
        (Configuration(acks="1", one_client=False), NOTHING, Level.ORDERED_SEQUENTIAL),
        (Configuration(acks="1"), NOTHING, Level.DURABLE_PREFIX),
        (Configuration(acks="1"), Envelope(leader_moves=1), Level.DIVERGENT),
        (Configuration(acks="0"), NOTHING, Level.CONSISTENT_PREFIX),
        (Configuration(reads_from="any"), NOTHING, Level.DURABLE_PREFIX),
        (FOLLOWER, NOTHING, Level.DURABLE_PREFIX),
        (
            Configuration(reads_from="follower", one_client=False),
            NOTHING,
            Level.ORDERED_SEQUENTIAL,
        ),
        (
            Configuration(isolation="read_committed", transactions=True, one_client=False),
            NOTHING,
            Level.ORDERED_SEQUENTIAL,
        ),
        (Configuration(isolation="read_committed"), NOTHING, Level.LINEARIZABLE),
        (Configuration(transactions=True), NOTHING, Level.DIVERGENT),
        (Configuration(log="metadata", reads_from="any"), ANYTHING_CLEAN, Level.DURABLE_PREFIX),
        (Configuration(log="metadata", acks="1"), NOTHING, Level.LINEARIZABLE),
    ],
)
def test_the_level_of_reads(configuration: Configuration, envelope: Envelope, level: Level) -> None:
    assert promised(configuration, envelope).level == level


@pytest.mark.parametrize("moved", [Envelope(leader_moves=1), ANYTHING_CLEAN])
def test_clean_trouble_loses_nothing_with_acks_of_all(moved: Envelope) -> None:
    found = promised(Configuration(), moved)
    assert found.durable and found.ordered and found.exactly_once
    for anomaly in ("lost-write", "inconsistent-offsets", "G1a", "duplicate", "future-read"):
        assert not found.allows(anomaly), anomaly
    assert found.allows("stale-read")


def test_acks_of_one_is_lost_by_a_planned_move() -> None:
    """Z54, KAFKA-20554; and by a crash of the only replica that had the record."""
    for envelope in (Envelope(leader_moves=1), Envelope(lossy=1)):
        found = promised(Configuration(acks="1"), envelope)
        assert not found.durable and found.allows("lost-write")
        assert "acks-one-moved" in found.rows and not found.nothing
    assert promised(Configuration(acks="1")).durable


def test_what_was_read_stays_read_with_acks_of_one() -> None:
    """Readers see nothing above the high watermark, and every clean leader has what is below."""
    found = promised(Configuration(acks="1", retries=False), Envelope(leader_moves=1))
    for anomaly in ("phantom", "duplicate", "nonmonotonic-poll", "int-nonmonotonic-poll", "G1a"):
        assert not found.allows(anomaly), anomaly


def test_a_new_leader_may_not_have_deleted_as_much_whatever_the_acks() -> None:
    """S9: a follower learns the log's start by fetching. One in 1,300 runs with acks=0 saw it."""
    for acks in ("0", "1", "all"):
        configuration = Configuration(acks=acks)
        assert promised(configuration, Envelope(leader_moves=1)).allows("start-regress"), acks
        assert not promised(configuration).allows("start-regress"), acks


def test_acks_of_none_takes_away_what_an_answer_would_promise_and_no_more() -> None:
    found = promised(Configuration(acks="0"), ANYTHING_CLEAN)
    # A record may come at any time after it was sent, over any connection, or never.
    for anomaly in ("append-order", "nonmonotonic-send", "unplaced-append", "lost-write"):
        assert found.allows(anomaly), anomaly
    # What is read is committed all the same, and nobody sends again what asks for no answer.
    for anomaly in (
        *("phantom", "G1a", "inconsistent-offsets", "duplicate", "future-read", "hole"),
        *("poll-skip", "int-poll-skip", "nonmonotonic-poll", "poll-before-position"),
    ):
        assert not found.allows(anomaly), anomaly
    assert not found.nothing and found.level == Level.CONSISTENT_PREFIX


def test_compaction_by_unknown_keys_takes_away_that_what_was_written_can_be_read() -> None:
    """With keys that are told it takes nothing: the checker knows what was replaced."""
    for envelope in (NOTHING, ANYTHING_CLEAN):
        usual = promised(Configuration(), envelope)
        keyed = promised(Configuration(compaction="keyed"), envelope)
        found = promised(Configuration(compaction="keys-unknown"), envelope)
        assert told(keyed) == told(usual)
        assert set(found.allowed) - set(usual.allowed) == {
            *("lost-write", "poll-skip", "int-poll-skip"),
            *("skipped-record", "wrong-start"),
        }
        assert told(found)[:5] == told(usual)[:5]


def test_an_unclean_election_promises_nothing() -> None:
    found = promised(Configuration(), Envelope(unclean_moves=1))
    assert found.nothing and not found.durable and found.allows("phantom")
    assert found.because.startswith("a leader was elected from outside ISR and ELR")
    # That one is allowed is not enough: what counts is what happened.
    assert not promised(Configuration(unclean_election=True)).nothing
    assert unseen(Configuration(unclean_election=True)).unclean_moves == 1
    assert unseen(Configuration()) == ANYTHING_CLEAN


@pytest.mark.parametrize(
    ("elr", "least", "replicas", "lossy", "nothing"),
    [
        (True, 2, 3, 1, False),
        (True, 2, 3, 2, True),
        (True, 3, 3, 2, False),
        (True, 1, 3, 1, True),
        (False, 2, 3, 1, True),
        (False, 3, 3, 0, False),
        # min.insync.replicas above the replication factor counts as the factor [P6].
        (True, 2, 1, 1, True),
    ],
)
def test_lost_records(elr: bool, least: int, replicas: int, lossy: int, nothing: bool) -> None:
    configuration = Configuration(elr=elr, min_insync_replicas=least, replication_factor=replicas)
    assert promised(configuration, Envelope(lossy=lossy)).nothing is nothing
    assert promised(configuration, Envelope(disks_lost=lossy)).nothing is nothing
    assert (lossy > spared(configuration)) is nothing


def test_a_voter_that_forgot_promises_nothing() -> None:
    """Q2: of the metadata log, whose voters keep their records and votes on disk."""
    assert promised(Configuration(log="metadata"), Envelope(disks_lost=1)).nothing
    assert not promised(Configuration(log="metadata"), Envelope(lossy=1)).nothing


def test_retries_without_idempotence_append_twice() -> None:
    once = Configuration(idempotence=False, retries=False)
    assert promised(once).exactly_once
    found = promised(Configuration(idempotence=False))
    assert not found.exactly_once and found.allows("duplicate")
    assert "T1" in found.allowed["duplicate"]
    # A copy is all that this costs: of each, one stands where it was acknowledged.
    assert found.level == Level.LINEARIZABLE and not found.allows("append-order")
    assert not together([promised(once), found]).exactly_once
    assert promised(once, Envelope(expired=True)).exactly_once
    forgotten = promised(Configuration(), Envelope(expired=True))
    assert not forgotten.exactly_once and forgotten.allows("nonmonotonic-send")
    # Kafka's client refuses idempotence with acks=1, and turns off what was not asked for.
    assert not promised(Configuration(acks="1")).exactly_once


def test_groups_may_jump() -> None:
    found = promised(Configuration(consumers="subscribe"))
    assert found.allows("poll-skip") and found.allows("nonmonotonic-poll")
    assert not found.allows("int-poll-skip")


def test_the_reason_is_that_of_the_weakest_row() -> None:
    found = promised(Configuration(reads_from="follower"), Envelope(leader_moves=1))
    assert found.level == Level.DURABLE_PREFIX
    assert found.because.startswith("the leader moved, and a process reads its own appends")


# -- Levels by name


@pytest.mark.parametrize("level", list(Level))
def test_a_level_has_several_names(level: Level) -> None:
    for name in (str(int(level)), level.words, level.name, level.name.lower().replace("_", "-")):
        assert level_named(name) == level


def test_a_level_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(KeyError, match=r"no level 'strong'; there are: divergent, .*linearizable"):
        level_named("strong")


@pytest.mark.parametrize(
    ("configuration", "envelope", "complaint"),
    [
        (Configuration(min_insync_replicas=0), NOTHING, "min.insync.replicas 0 of 3 replicas"),
        (Configuration(replication_factor=0), NOTHING, "2 of 0 replicas"),
        (Configuration(), Envelope(lossy=-1), "less than never"),
    ],
)
def test_what_cannot_be_is_refused(
    configuration: Configuration, envelope: Envelope, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        promised(configuration, envelope)


def test_several_promise_only_what_each_does() -> None:
    both = together([promised(Configuration()), promised(Configuration(acks="0"))])
    assert not (both.durable or both.ordered)
