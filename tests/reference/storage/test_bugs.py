"""Each bug of the storage engine is found, by the promise that it names; the engine keeps it."""

from __future__ import annotations

import errno

import pytest

from kraftcheck.reference.bugs.catalog import OF_STORAGE, bug
from kraftcheck.reference.storage.batches import data_batch, marker_batch
from kraftcheck.reference.storage.bugs import SEEDS, STATES
from kraftcheck.reference.storage.crashing import Story, judged_start
from kraftcheck.reference.storage.histories import FIRST_TIME, Operation
from kraftcheck.reference.storage.judging import judge_all
from kraftcheck.reference.storage.promises import batches_in, in_order
from kraftcheck.reference.storage.rules import Config, StorageRules

COMPACT = Config(segment_bytes=400, index_interval=0, compact=True, delete_retention=0)


def rules_of(id: str) -> type[StorageRules]:
    found = bug(id).replacement
    assert found is not None
    return found


@pytest.mark.parametrize("id", SEEDS)
def test_a_bug_is_found_by_chance(id: str) -> None:
    found = judge_all(rules_of(id), SEEDS[id], STATES).found
    assert bug(id).property in {each.promise for each in found}
    assert not judge_all(StorageRules, SEEDS[id], STATES).found


class Listener:
    """A story told by hand."""

    def __init__(self, rules: type[StorageRules], config: Config) -> None:
        self.story = Story(rules(config), FIRST_TIME)

    def append(self, data: bytes, origin: str = "client") -> None:
        self.do("leader", "0", origin, data.hex())

    def plain(self, key: bytes, value: bytes | None) -> None:
        self.append(data_batch([(key, value)], FIRST_TIME))

    def open(self, key: bytes, producer: int = 8) -> None:
        self.append(data_batch([(key, b"v")], FIRST_TIME, producer, 0, 0, transactional=True))

    def end(self, *, commit: bool, producer: int = 8) -> None:
        self.append(marker_batch(commit, FIRST_TIME, producer, 0), "coordinator")

    def clean(self, keys: int = 1000) -> None:
        end = self.story.broker.log.end
        self.do("hw", str(end))
        self.do("clean", "0", str(end), str(keys))

    def do(self, name: str, *words: str) -> None:
        self.story.perform(Operation(name, words))

    def broken(self) -> set[str]:
        upto = len(self.story.disk.journal)
        wrong, _, _ = judged_start(self.story, upto, self.story.crash(upto).process())
        live = in_order(batches_in(self.story.broker.log), (), compact=True)
        return {each.promise for each in (*wrong, *live)}


def index_fails(told: Listener) -> None:
    """The index of transactions cannot be written, once; the marker comes again."""
    told.open(b"k1")
    told.story.disk.fails = lambda what, path: errno.EIO if path.endswith(".txnindex") else 0
    with pytest.raises(OSError, match="txnindex"):
        told.end(commit=False)
    told.story.disk.fails = lambda what, path: 0
    told.story.again(told.story.done[-1])


def last_batch_goes(told: Listener) -> None:
    """A tombstone at the end, whose time is over in the second round."""
    told.plain(b"k1", b"v")
    told.plain(b"k1", None)
    told.do("roll")
    told.clean()
    told.do("now", str(FIRST_TIME + 1))
    told.clean()


def map_is_full(told: Listener) -> None:
    """What was aborted lies in the same segment, behind what the map knows."""
    told.plain(b"k0", b"v")
    told.plain(b"k1", b"v")
    told.open(b"k2")
    told.end(commit=False)
    told.do("roll")
    told.clean(keys=1)
    told.do("checkpoint")


def two_groups(told: Listener) -> None:
    """A transaction whose marker is in a segment of its own."""
    told.open(b"k1")
    for number in range(4):
        told.plain(b"p%d" % number, b"v" * 60)
    told.do("roll")
    told.end(commit=True)
    told.plain(b"q", b"v" * 200)
    told.do("roll")
    told.clean()
    told.do("now", str(FIRST_TIME + 1))
    told.clean()


def keyless(told: Listener) -> None:
    """A record without a key in a compacted log, and a cleaning."""
    told.append(data_batch([(None, b"v")], FIRST_TIME))
    told.do("roll")
    told.plain(b"k1", b"v")
    told.do("roll")
    told.clean()


def forged(told: Listener) -> None:
    """A client ends the transaction of somebody else."""
    told.open(b"k1")
    told.append(marker_batch(True, FIRST_TIME, 8, 0))


BY_HAND = {
    "Z144": (index_fails, Config()),
    "Z147": (last_batch_goes, COMPACT),
    "Z149": (map_is_full, COMPACT),
    "Z150": (two_groups, COMPACT),
    "Z306": (keyless, COMPACT),
    "Z307": (forged, Config()),
}


@pytest.mark.parametrize("id", BY_HAND)
def test_a_bug_is_found_in_a_story_told_by_hand(id: str) -> None:
    tell, config = BY_HAND[id]
    for rules, expected in ((StorageRules, False), (rules_of(id), True)):
        told = Listener(rules, config)
        tell(told)
        assert (bug(id).property in told.broken()) is expected, rules
        assert expected or not told.broken()


def test_every_bug_has_its_test() -> None:
    assert {each.id for each in OF_STORAGE} == {*SEEDS, *BY_HAND}
