"""Consumer groups: each anomaly planted and not, what is bad input, and agreement by pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces import grouplog
from kraftcheck.traces.checkers import findings, members
from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.check import check_history, check_log, configuration_in
from kraftcheck.traces.checkers.findings import Broken
from kraftcheck.traces.checkers.groups import GROUPS
from kraftcheck.traces.formats import detect, export, jsonlines
from kraftcheck.traces.history import HistoryError
from tests.traces.checkers import member_worlds

ALLOWED = {"zombie-overlap", "commit-by-non-owner", "commit-beyond"}
SECOND = 10**9


class Facts:
    """Events as lines of EDN, a second apart."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.time = 0

    def event(self, process: int, kind: str, f: str, value: str, more: str = "") -> Facts:
        self.time += SECOND
        head = f":process {process} :type :{kind} :f :{f} :time {self.time}{more}"
        self.lines.append(f"{{{head} :value {value}}}")
        return self

    def op(
        self,
        process: int,
        f: str,
        asked: str,
        told: str | None = None,
        kind: str = "ok",
        more: str = "",
    ) -> Facts:
        self.event(process, "invoke", f, asked, more)
        return self.event(process, kind, f, asked if told is None else told, more)

    def sent(self, *values: int) -> Facts:
        for offset, value in enumerate(values):
            self.op(0, "send", f'[[:send "t" {value}]]', f'[[:send "t" [{offset} {value}]]]')
        return self

    def given(self, process: int) -> Facts:
        more = f' :mark "{process}"'
        return self.op(process, "partitions-assigned", '["g" ["t"]]', more=more)

    def taken(self, process: int, how: str = "revoked") -> Facts:
        return self.op(process, f"partitions-{how}", '["g" ["t"]]')

    def marked(self, process: int, offset: int, kind: str = "ok") -> Facts:
        more = f' :mark "{process}@{offset}"'
        return self.op(process, "commit-offsets", f'["g" [["t" {offset}]]]', kind=kind, more=more)

    def poll(self, process: int, *offsets: int) -> Facts:
        shown = " ".join(f"[{offset} {10 + offset}]" for offset in offsets)
        return self.op(process, "poll", "[[:poll]]", f'[[:poll {{"t" [{shown}]}}]]')

    def commit(self, process: int, offset: int, kind: str = "ok") -> Facts:
        return self.op(process, "commit-offsets", f'["g" [["t" {offset}]]]', kind=kind)

    def done(self, process: int, offset: int) -> Facts:
        return self.op(process, "processed", f'["g" [["t" {offset}]]]')

    def asked(self, offset: int) -> Facts:
        return self.op(9, "committed", '["g" nil]', f'["g" [["t" {offset}]]]')

    def later(self, seconds: float) -> Facts:
        self.time += int(seconds * SECOND)
        return self

    def report(
        self, path: Path, configuration: Configuration | None = None, log: str = ""
    ) -> Report:
        path.write_text("\n".join(self.lines))
        history = detect.read(path)
        if not log:
            return check_history(history, configuration=configuration)
        beside = path.with_name(grouplog.GROUPS)
        beside.write_text("\n".join(records(log)))
        promise = promised(configuration or configuration_in(history))
        return check_log(history, promise, groups=grouplog.read(beside))


def records(log: str) -> Iterator[str]:
    """`1 has t; 1 gone; 2@5 commits 3; all 1:t 2:` as lines of a group's log; `-` is no record."""
    for offset, said in enumerate(log.split("; ")):
        entry: dict[str, object] = {"partition": 0, "offset": offset, "what": "other", "group": "g"}
        match said.split():
            case [member, "has", *keys]:
                entry |= {"what": "member", "member": member, "has": keys}
            case [member, "gone"]:
                entry |= {"what": "removed", "member": member}
            case ["all", *members]:
                each = (one.partition(":") for one in members)
                has = {name: [keys] if keys else [] for name, _, keys in each}
                entry |= {"what": "generation", "all": has}
            case [mark, "commits", number]:
                entry |= {"what": "committed", "key": "t", "committed": int(number), "mark": mark}
            case ["epoch", number, topics]:
                entry |= {"what": "epoch", "epoch": int(number), "topics": int(topics)}
            case ["epoch", "-"]:
                entry |= {"what": "epoch"}
            case ["wish"]:
                entry |= {"what": "wish"}
            case ["cleaned"]:
                continue
        yield msgspec.json.encode(entry).decode()


def begun() -> Facts:
    """Three records, and a member that has read them."""
    return Facts().sent(10, 11, 12).given(1).poll(1, 0, 1, 2)


def handed_on() -> Facts:
    """From the first member, which committed 2, to a second one."""
    return begun().done(1, 2).commit(1, 2).taken(1).given(2)


GOOD = {
    "a hand-over": handed_on().poll(2, 2).done(2, 3).commit(2, 3).asked(3),
    "a commit within the callback": begun()
    .event(1, "invoke", "poll", "[[:poll]]")
    .event(1, "invoke", "partitions-revoked", '["g" ["t"]]')
    .commit(1, 3)
    .event(1, "ok", "partitions-revoked", '["g" ["t"]]')
    .event(1, "ok", "poll", "[[:poll {}]]")
    .given(2)
    .asked(3),
    "a commit that was not answered": begun()
    .commit(1, 1)
    .commit(1, 3, "info")
    .asked(1)
    .taken(1)
    .given(2)
    .asked(3)
    .poll(2, 1, 2),
    "a member that was removed": handed_on().poll(2, 2).given(3).poll(3, 2).taken(2, "lost"),
    "a member that died": begun().given(2).poll(2, 0).poll(1),
    "a member without the partition commits": handed_on().commit(1, 2),
    "more than was shown": begun().commit(1, 7),
    "nothing was committed": begun().asked(-1).taken(1).given(2).poll(2, 0, 1, 2),
    "nobody has it for a while": begun().commit(1, 3).taken(1).later(300).given(1),
    "a member that gives up twice": begun().commit(1, 3).taken(1).taken(1).given(2),
    "a member that left": begun().op(1, "leave", '["g" nil]').given(2).poll(2, 0),
    "a poll over a rebalance": begun()
    .commit(1, 2)
    .event(1, "invoke", "poll", "[[:poll]]")
    .taken(1)
    .given(1)
    .event(1, "ok", "poll", '[[:poll {"t" [[2 12]]}]]')
    .poll(1, 2),
}


def all_read() -> Facts:
    """By somebody else, too."""
    return Facts().sent(10, 11, 12).poll(8, 0, 1, 2)


BAD = {
    "overlap": begun()
    .event(1, "invoke", "partitions-revoked", '["g" ["t"]]')
    .given(2)
    .event(1, "ok", "partitions-revoked", '["g" ["t"]]'),
    "unowned-poll": handed_on().poll(2, 2).poll(1, 2),
    "stale-offset": begun().commit(1, 1).commit(1, 2).asked(1),
    "unknown-offset": begun().commit(1, 1).asked(2),
    "offset-lost": begun().commit(1, 1).asked(-1),
    "wrong-start": begun().commit(1, 1).taken(1).given(2).poll(2, 2),
    "early-start": handed_on().poll(2, 1, 2),
    "skipped-record": all_read().given(1).poll(1, 0).taken(1).given(2).poll(2, 2).commit(2, 3),
    "committed-unprocessed": begun().done(1, 2).commit(1, 3),
    "stuck-partition": begun().commit(1, 3).taken(1).later(400).given(1),
    "zombie-commit-offsets": begun().taken(1, "lost").given(2).poll(2, 0).commit(1, 3).poll(2, 1),
    "zombie-overlap": GOOD["a member that was removed"],
    "commit-by-non-owner": GOOD["a member without the partition commits"],
    "commit-beyond": GOOD["more than was shown"],
}


HANDED = "1 has t; 1 has; 2 has t"
BY_LOG = {
    "double-ownership": (BAD["overlap"], HANDED),
    "server-double-owner": (begun(), "1 has t; 2 has t; 1 has"),
    "fenced-commit": (
        begun().marked(1, 3),
        "1 has t; - ; all 2:t; 1@3 commits 3",
    ),
    "altered-commit": (begun().marked(1, 3), "1 has t; 1@3 commits 1000003"),
    "unwritten-commit": (begun().marked(1, 2).marked(1, 3), "1 has t; 1@3 commits 3"),
    "unwritten-assignment": (handed_on(), "1 has t; 1 has"),
    "idle-rebalance": (begun(), "wish; epoch 1 7; 1 has t; epoch 2 7"),
}
GOOD_BY_LOG = {
    "it was removed": (BAD["overlap"], "1 has t; 1 gone; 2 has t", {"zombie-overlap"}),
    "it was left out": (BAD["overlap"], "all 1:t 2:; all 2:t", {"zombie-overlap"}),
    "it did not join again": (
        BAD["zombie-overlap"],
        "1 has t; 1 gone; 2 has t; 2 gone; all 2: 3:t; all 3:t",
        {"zombie-overlap"},
    ),
    "nothing moved when it went back": (
        handed_on(),
        "1 has t; 1 has; 1 gone; all 1: 2:t; all 1: 2:t",
        set(),
    ),
    "a hand-over": (handed_on(), HANDED, set()),
    "a commit": (begun().marked(1, 3), "1 has t; - ; 1@3 commits 3; 1 gone", set()),
    "the log was cleaned": (begun().marked(1, 2), "cleaned; 1 has t", set()),
    "an epoch of a log that was cleaned": (begun(), "epoch 1 7; cleaned; epoch 2 7", set()),
    "epochs with a reason": (
        begun(),
        "1 has t; wish; epoch 1 7; wish; epoch 2 7; epoch 3 8; epoch -; epoch 4 8; all 1:; "
        "epoch 5 8",
        set(),
    ),
    # It never came to be, so what was committed before is what is there.
    "a commit that was not answered": (
        begun().marked(1, 1).marked(1, 3, "info").asked(1),
        "1 has t; 1@1 commits 1",
        set(),
    ),
}


def test_every_name_is_planted() -> None:
    # (test_offset_order.py has what takes too long.)
    assert set(BAD) | set(BY_LOG) == set(GROUPS) - {"open-offset"}


@pytest.mark.parametrize("name", BY_LOG)
def test_what_the_log_contradicts_is_found(name: str, tmp_path: Path) -> None:
    told, log = BY_LOG[name]
    found = told.report(tmp_path / "history.edn", log=log)
    assert found.verdict == "violated", found
    assert [each.name for each in found.anomalies if not each.allowed] == [name]


NEVER_REVOKED = {
    "never": GOOD["a member that died"],
    "told that it is lost": BAD["zombie-overlap"],
}


@pytest.mark.parametrize("when", NEVER_REVOKED)
def test_who_gave_a_partition_up_by_the_log_alone_has_it_still(when: str, tmp_path: Path) -> None:
    """It reads on beside the second member, whether it revokes late, never, or hears of a loss."""
    log = "1 has t; 1 has; 2 has t; 2 has; 3 has t"
    found = NEVER_REVOKED[when].report(tmp_path / "history.edn", log=log)
    assert found.verdict == "violated", found
    assert [each.name for each in found.anomalies if not each.allowed] == ["double-ownership"]
    assert NEVER_REVOKED[when].report(tmp_path / "alone.edn").holds


@pytest.mark.parametrize("kind", ["ok", "info"])
@pytest.mark.parametrize("cleaned", [False, True])
def test_offsets_of_the_log_are_compared(cleaned: bool, kind: str, tmp_path: Path) -> None:
    """Whoever was told of a commit, and whatever else of the log was cleaned away."""
    told = begun().marked(1, 2).marked(1, 3, kind)
    more = "cleaned; " if cleaned else ""
    log = more + "1 has t; 1@2 commits 2; 1@3 commits {}"
    assert told.report(tmp_path / "history.edn", log=log.format(3)).holds
    found = told.report(tmp_path / "history.edn", log=log.format(1_000_003))
    assert [each.name for each in found.anomalies if not each.allowed] == ["altered-commit"]


def test_a_commit_that_the_log_lacks_was_acknowledged_all_the_same(tmp_path: Path) -> None:
    """Who is told of it hears what somebody committed."""
    told, log = begun().marked(1, 2).asked(2).marked(1, 3), "1 has t; 1@3 commits 3"
    found = told.report(tmp_path / "history.edn", log=log)
    assert [each.name for each in found.anomalies if not each.allowed] == ["unwritten-commit"]


def test_a_mark_that_several_commits_bear_tells_nothing_where_the_log_was_cleaned(
    tmp_path: Path,
) -> None:
    told = begun()
    for offset in (2, 3):
        told.op(1, "commit-offsets", f'["g" [["t" {offset}]]]', more=' :mark "m"')
    found = told.report(tmp_path / "history.edn", log="cleaned; 1 has t; m commits 3")
    assert found.holds, found
    found = told.report(tmp_path / "history.edn", log="1 has t; m commits 3")
    assert [each.name for each in found.anomalies if not each.allowed] == ["unwritten-commit"]


WENT_BACK = {
    "overlap": "1 has t; 1 gone; - ; all 1: 2:t; all 1: 2:t",
    "zombie-overlap": "1 has t; 1 gone; 2 has t; 2 gone; - ; all 2: 3:t; all 2: 3:t",
}
"""The group goes back to the classic protocol, and another member has what one had (Z181)."""


@pytest.mark.parametrize("said", WENT_BACK)
def test_who_was_not_asked_when_the_group_went_back_was_not_removed(
    said: str, tmp_path: Path
) -> None:
    """Whether or not its client was told that it lost the partition."""
    found = BAD[said].report(tmp_path / "history.edn", log=WENT_BACK[said])
    assert found.verdict == "violated", found
    assert [each.name for each in found.anomalies if not each.allowed] == ["double-ownership"]


@pytest.mark.parametrize("name", GOOD_BY_LOG)
def test_what_the_log_explains_holds(name: str, tmp_path: Path) -> None:
    told, log, allowed = GOOD_BY_LOG[name]
    found = told.report(tmp_path / "history.edn", log=log)
    assert found.holds and {each.name for each in found.anomalies} == allowed, found


def test_a_commit_that_the_log_lacks_is_read_by_nobody(tmp_path: Path) -> None:
    told, log, _ = GOOD_BY_LOG["a commit that was not answered"]
    again = Facts()
    again.lines, again.time = list(told.lines), told.time
    assert again.asked(3).report(tmp_path / "history.edn").holds
    found = again.report(tmp_path / "history.edn", log=log)
    assert [each.name for each in found.anomalies] == ["unknown-offset"]


def test_what_is_allowed_is_no_evidence_beside_what_is_not(tmp_path: Path) -> None:
    """Though its name comes first."""
    log = BY_LOG["idle-rebalance"][1]
    found = GOOD["more than was shown"].report(tmp_path / "history.edn", log=log)
    assert {each.name: each.allowed for each in found.anomalies} == {
        "commit-beyond": True,
        "idle-rebalance": False,
    }
    [evidence] = [each.certificate for each in found.parts if each.certificate]
    assert evidence.kind == "idle-rebalance"


def test_a_damaged_log_is_refused_with_its_line(tmp_path: Path) -> None:
    beside = tmp_path / grouplog.GROUPS
    beside.write_text('{"partition":0,"offset":0,"what":"other"}\n{"partition":0}\n')
    with pytest.raises(HistoryError, match=r"groups.jsonl:2: no record of a group's log"):
        grouplog.read(beside)


@pytest.mark.parametrize("name", GOOD)
def test_what_correct_groups_do_holds(name: str, tmp_path: Path) -> None:
    found = GOOD[name].report(tmp_path / "history.edn")
    assert found.holds, found


@pytest.mark.parametrize("name", BAD)
def test_a_planted_anomaly_is_found(name: str, tmp_path: Path) -> None:
    found = BAD[name].report(tmp_path / "history.edn")
    told = next(each for each in found.anomalies if each.name == name)
    assert told.count == 1 and 1 <= len(told.certificates[0].operations) <= 2, found
    assert told.allowed == (name in ALLOWED)
    # Who was removed when, only the group's log says.
    expected = {"overlap": "unknown"}.get(name, "holds" if name in ALLOWED else "violated")
    assert found.verdict == expected, found


def test_without_a_clock_nobody_waits_too_long(tmp_path: Path) -> None:
    told = BAD["stuck-partition"]
    path = tmp_path / "history.edn"
    path.write_text("\n".join(each.replace(":time", ":nothing") for each in told.lines))
    assert check_history(detect.read(path)).holds


def test_a_group_that_reads_from_the_beginning_starts_there(tmp_path: Path) -> None:
    told = all_read().given(1).poll(1, 1, 2)
    assert told.report(tmp_path / "history.edn").holds
    earliest = Configuration(consumers="listen", one_client=False, reset="earliest")
    found = told.report(tmp_path / "history.edn", earliest)
    assert {each.name for each in found.anomalies if not each.allowed} == {"wrong-start"}


def test_rebalances_that_are_told_make_polls_count(tmp_path: Path) -> None:
    """Without them, any two polls of a subscriber may have a rebalance between."""
    told = all_read().op(1, "subscribe", '["t"]')
    silent = Facts()
    silent.lines = list(told.lines)
    silent.time = told.time
    assert silent.poll(1, 0).poll(1, 2).report(tmp_path / "silent.edn").holds
    found = told.given(1).poll(1, 0).poll(1, 2).report(tmp_path / "history.edn")
    assert {each.name for each in found.anomalies if not each.allowed} >= {"poll-skip"}


def test_what_is_replaced_need_not_be_read(tmp_path: Path) -> None:
    compacted = Configuration(consumers="listen", one_client=False, compaction="keys-unknown")
    found = BAD["skipped-record"].report(tmp_path / "history.edn", compacted)
    assert "skipped-record" not in {each.name for each in found.anomalies}
    found = BAD["unknown-offset"].report(tmp_path / "history.edn", compacted)
    assert "unknown-offset" in {each.name for each in found.anomalies}


def test_a_topic_of_a_subscription_that_no_member_was_given_is_stuck(tmp_path: Path) -> None:
    told = Facts().sent(10).op(1, "subscribe", '["t" "u"]').given(1).later(400).poll(1, 0)
    (stuck,) = told.report(tmp_path / "history.edn").anomalies
    assert stuck.name == "stuck-partition" and stuck.certificates[0].key == "u"


def test_evidence_is_of_the_operation_and_says_what_was_wrong_with_it(tmp_path: Path) -> None:
    [polled] = BAD["unowned-poll"].report(tmp_path / "history.edn").anomalies
    assert polled.certificates[0].sentence.endswith(" as a member of group g")
    [committed] = BAD["commit-beyond"].report(tmp_path / "history.edn").anomalies
    [evidence] = committed.certificates
    assert evidence.operations == (5,) and evidence.sentence.startswith("process 1 committed 7")


@pytest.mark.parametrize("touch", [False, True])
def test_who_commits_as_another_is_given_its_place_may_have_been_first(
    touch: bool, tmp_path: Path
) -> None:
    told = begun().taken(1, "lost").given(2).commit(1, 3).poll(2, 0)
    told.report(tmp_path / "history.edn")
    read = detect.read(tmp_path / "history.edn")
    *before, given, commit, poll = read.operations
    at = given.completed if touch else commit.invoked
    operations = (*before, given, replace(commit, invoked=at), poll)
    found = check_history(replace(read, operations=operations))
    assert ("zombie-commit-offsets" in {each.name for each in found.anomalies}) != touch


def test_who_gives_up_what_it_has_no_more_gives_up_the_rest(tmp_path: Path) -> None:
    told = Facts().sent(10).poll(8, 0)
    told.op(1, "partitions-assigned", '["g" ["t" "u"]]', more=' :mark "1"')
    for keys in ("t", "t u"):
        shown = " ".join(f'"{key}"' for key in keys.split())
        told.op(1, "partitions-revoked", f'["g" [{shown}]]')
    told.op(2, "partitions-assigned", '["g" ["u"]]', more=' :mark "2"').poll(1)
    found = told.report(tmp_path / "history.edn", log="1 has t u; 1 has; 2 has u")
    assert not found.anomalies, found


def test_a_poll_that_shows_nothing_leaves_its_member_where_it_stood(tmp_path: Path) -> None:
    """So the next one goes over the record between, and the commit after it goes over nothing."""
    told = all_read().given(1).poll(1, 0).poll(1).poll(1, 2).commit(1, 3)
    found = told.report(tmp_path / "history.edn")
    assert {each.name for each in found.anomalies} == {"poll-skip"}


def test_each_time_that_something_happened_has_its_certificate() -> None:
    """Two that look alike were two."""
    twice = Broken("early-start", [0, 0], lambda row: ((row,), "as before", None))
    found = findings.anomaly_of(twice, GROUPS, promised(Configuration()), None)
    assert found.count == len(found.certificates) == 2


def test_a_history_of_a_group_is_converted_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    for told in (GOOD["a commit within the callback"], GOOD["nothing was committed"]):
        path.write_text("\n".join(told.lines))
        history = detect.read(path)
        other = tmp_path / "history.jsonl"
        other.write_text("".join(jsonlines.write(history)))
        again = detect.read(other)
        assert [each.argument for each in again.operations] == [
            each.argument for each in history.operations
        ]
        assert list(export.operations_of(again)) == list(export.operations_of(history))


# -- Bad input

REFUSED = {
    "is given t, to which it did not subscribe": Facts().op(1, "subscribe", '["u"]').given(1),
    "gives up t, which it never had": Facts().taken(1),
    "is a member of g and h": begun().op(1, "partitions-assigned", '["h" ["t"]]'),
    "not of [group [k ...]]": Facts().op(1, "partitions-lost", '["t"]'),
    "not of [group nil]": Facts().op(1, "leave", "nil"),
    "not of [group [[key offset] ...]]": Facts().op(1, "commit-offsets", '["g" [["t" -1]]]'),
    "mark is 7, not a string": Facts().op(1, "commit-offsets", '["g" [["t" 1]]]', more=" :mark 7"),
    "asks while its operation of line 1 is still open": Facts()
    .event(1, "invoke", "poll", "[[:poll]]")
    .event(1, "invoke", "commit-offsets", '["g" [["t" 1]]]'),
    "completes poll, but line 2 invoked partitions-revoked": Facts()
    .event(1, "invoke", "poll", "[[:poll]]")
    .event(1, "invoke", "partitions-revoked", '["g" ["t"]]')
    .event(1, "ok", "poll", "[[:poll {}]]"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_bad_input_is_refused_in_a_line(reason: str, tmp_path: Path) -> None:
    told = REFUSED[reason]
    told = told.sent(99) if "[[:send" not in "".join(told.lines) else told
    with pytest.raises(HistoryError) as refused:
        told.report(tmp_path / "history.edn")
    assert reason in str(refused.value) and refused.value.line and "\n" not in str(refused.value)


def test_a_history_that_ends_within_a_rebalance_is_judged(tmp_path: Path) -> None:
    told = begun().event(1, "invoke", "partitions-revoked", '["g" ["t"]]').given(2)
    found = told.report(tmp_path / "history.edn")
    assert found.holds and not found.anomalies


# -- By definition


@pytest.mark.slow
def test_agrees_with_the_definitions() -> None:
    found = [member_worlds.compare(seed) for seed in range(250)]
    assert found.count("violated") > 8 and found.count("holds") > 80


def spans_are_right(seeds: range) -> None:
    """What a member does is of the last span that it had meanwhile."""
    for seed in seeds:
        history = member_worlds.world(seed)
        found = members.members_of(history)
        if found is None:
            continue
        spans = found.spans
        for did in (found.polled, found.commits, found.processed):
            for place, span, operation in zip(did.place, did.span, did.operation, strict=True):
                each = history.operations[operation]
                until = each.invoked if each.completed is None else each.completed
                mine = (spans.place == place) & (spans.process == each.process)
                mine &= (spans.begin <= until) & (spans.end >= each.invoked)
                assert span == max(np.flatnonzero(mine), default=members.NONE), seed


def test_polls_are_of_the_last_span() -> None:
    spans_are_right(range(150))


def test_a_poll_of_the_span_before_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members._Spans, "at", _earlier)
    with pytest.raises(AssertionError):
        spans_are_right(range(400))


def _earlier(spans: Any, place: Any, rows: Any, of: Any, at: Any = members._Spans.at) -> Any:
    span, several = at(spans, place, rows, of)
    return np.where(several, span - 1, span), several


def _all_but_the_first(*given: Any, of: Any = members._records) -> Any:
    return tuple(each[1:] for each in of(*given))


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "passes everything": (member_worlds, "broken", lambda members, reset: []),
    "does not see a record": (members, "_records", _all_but_the_first),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_definitions_notice_a_checker_that(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    with pytest.raises(AssertionError):
        for seed in range(500):
            member_worlds.compare(seed)
