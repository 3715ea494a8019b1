"""Transactions: each anomaly planted and not, what is bad input, and agreement with enumeration."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.reference.clients.promises import Configuration, Envelope
from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.atomicity import ACROSS
from kraftcheck.traces.formats import detect, jsonlines, parquet
from kraftcheck.traces.history import History, HistoryError
from tests.traces.checkers import transaction_worlds
from tests.traces.checkers.calls import check_what_was_read as check_history


class Txns:
    """Events as lines of EDN, one operation after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def op(
        self, process: int, f: str, asked: str = "nil", told: str | None = None, **more: str
    ) -> Txns:
        outcome = more.pop("outcome", "ok")
        extra = "".join(f" :{name} {value}" for name, value in more.items())
        head = f":process {process} :f :{f}{extra}"
        self.lines.append(f"{{{head} :type :invoke :value {asked}}}")
        self.lines.append(f"{{{head} :type :{outcome} :value {asked if told is None else told}}}")
        return self

    def send(self, process: int, txn: int, key: int, offset: int, value: int) -> Txns:
        asked, told = f"[[:send {key} {value}]]", f"[[:send {key} [{offset} {value}]]]"
        return self.op(process, "send", asked, told, txn=str(txn))

    def poll(self, process: int, records: str, begin: str, end: str, **more: str) -> Txns:
        where = {"from": f"[{begin}]", "to": f"[{end}]"}
        return self.op(process, "poll", "[[:poll]]", f"[[:poll {records}]]", **where, **more)

    def txn(
        self, process: int, txn: int, *sends: tuple[int, int, int], end: str = "commit"
    ) -> Txns:
        """A transaction of (key, offset, value), ended as said: `end` or `end outcome`."""
        wanted, _, outcome = end.partition(" ")
        self.op(process, "begin", txn=str(txn))
        for key, offset, value in sends:
            self.send(process, txn, key, offset, value)
        more = {"outcome": outcome} if outcome else {}
        return self.op(process, "end", f":{wanted}", txn=str(txn), **more)

    def report(self, path: Path, **options: object) -> Report:
        path.write_text("\n".join(self.lines))
        return check_history(detect.read(path), **options)


def names(report: Report) -> set[str]:
    return {each.name for each in report.anomalies if not each.allowed}


SECOND = 1_000_000_000
REFUSED_AS = '"InvalidTxnStateException"'


def at(time: int, told: Txns) -> Txns:
    """With the time of each event."""
    told.lines = [line.replace(" :type", f" :time {time} :type", 1) for line in told.lines]
    return told


def unanswered(*seconds: int, outcome: str = "info") -> Txns:
    """An abort that is asked for at once and at these times, and not answered until the last of
    them, which has that outcome.
    """
    told = at(0, Txns().op(0, "init", '"id"').op(0, "begin", txn="1").send(0, 1, 0, 0, 1))
    for process, after in enumerate((0, *seconds)):
        ends = {"outcome": outcome if after == seconds[-1] else "info"}
        told.op(process, "end", ":abort", txn="1", time=str(after * SECOND), **ends)
    return told


BOTH = ((0, 0, 1), (1, 0, 2))
READ = "{0 [[0 1]] 1 [[0 2]]}"
"""A transaction of one record in each of two partitions, and a poll of all of it."""

GOOD = {
    "committed": Txns().txn(0, 1, *BOTH).poll(9, READ, "{0 0 1 0}", "{0 2 1 2}"),
    "aborted": Txns()
    .txn(0, 1, *BOTH, end="abort")
    .poll(9, "{0 [] 1 []}", "{0 0 1 0}", "{0 2 1 2}"),
    "unknown, committed": Txns()
    .txn(0, 1, *BOTH, end="commit info")
    .poll(9, READ, "{0 0 1 0}", "{0 2 1 2}"),
    "unknown, aborted": Txns()
    .txn(0, 1, *BOTH, end="commit info")
    .poll(9, "{0 [] 1 []}", "{0 0 1 0}", "{0 2 1 2}"),
    "one partition lags": Txns()
    .txn(0, 1, *BOTH)
    .poll(9, "{0 [[0 1]] 1 []}", "{0 0 1 0}", "{0 2 1 0}"),
    "aborted records, uncommitted": Txns()
    .txn(0, 1, *BOTH, end="abort")
    .poll(9, READ, "{0 0 1 0}", "{0 2 1 2}", isolation=":read_uncommitted"),
    "sent again after an abort": Txns()
    .txn(0, 1, *BOTH, end="abort")
    .txn(0, 2, (0, 2, 1))
    .poll(9, "{0 [[2 1]]}", "{0 0}", "{0 4}"),
    "fenced, nothing committed": Txns()
    .op(0, "init", '"id"')
    .op(0, "begin", txn="1")
    .send(0, 1, 0, 0, 1)
    .op(1, "init", '"id"')
    .op(0, "end", ":commit", txn="1", outcome="fail"),
    "a commit that failed, then an abort": Txns()
    .txn(0, 1, *BOTH, end="commit fail")
    .op(0, "end", ":abort", txn="1")
    .poll(9, "{0 [] 1 []}", "{0 0 1 0}", "{0 2 1 2}"),
    "a commit that was asked for twice": Txns()
    .txn(0, 1, *BOTH, end="commit info")
    .op(0, "end", ":commit", txn="1")
    .poll(9, READ, "{0 0 1 0}", "{0 2 1 2}"),
    "a commit and an abort that nobody answered": Txns()
    .txn(0, 1, *BOTH, end="commit info")
    .op(0, "end", ":abort", txn="1", outcome="info")
    .poll(9, READ, "{0 0 1 0}", "{0 2 1 2}"),
    "the same producer once more": Txns()
    .op(0, "init", '"id"')
    .op(0, "begin", txn="1")
    .send(0, 1, 0, 0, 1)
    .op(0, "init", '"id"')
    .txn(0, 2, (0, 2, 2))
    .poll(9, "{0 [[2 2]]}", "{0 0}", "{0 4}"),
    "a beginning that failed": Txns().op(0, "begin", txn="1", outcome="fail").txn(0, 2, *BOTH),
    "refused after its time": at(0, Txns().op(0, "begin", txn="1").send(0, 1, 0, 0, 1)).op(
        *(0, "end", ":commit"), txn="1", outcome="fail", error=REFUSED_AS, time=str(61 * SECOND)
    ),
    "refused after its end": at(0, Txns().txn(0, 1, (0, 0, 1), end="commit info")).op(
        *(0, "end", ":commit"), txn="1", outcome="fail", error=REFUSED_AS, time=str(SECOND)
    ),
    "refused, and fenced": at(
        0, Txns().op(0, "init", '"id"').op(0, "begin", txn="1").send(0, 1, 0, 0, 1)
    )
    .op(1, "init", '"id"', time="1")
    .op(0, "end", ":commit", txn="1", outcome="fail", error=REFUSED_AS, time="2"),
    "not answered for two minutes": unanswered(120),
    "answered in the end": unanswered(100, 240, outcome="fail"),
    "a poll that was not answered": Txns()
    .txn(0, 1, *BOTH)
    .poll(9, "{}", "{0 0 1 0}", "{0 2 1 2}", outcome="info"),
    "reads on": Txns()
    .txn(0, 1, (0, 0, 1))
    .op(1, "begin", txn="2")
    .poll(1, "{0 [[0 1]]}", "{0 0}", "{0 2}", txn="2")
    .op(1, "send-offsets", '["g" [[0 2]]]', txn="2")
    .op(1, "end", ":commit", txn="2")
    .op(1, "committed", '["g" nil]', '["g" [[0 2]]]'),
}
"""What happens to correct clusters."""

CONSUMED = (
    Txns()
    .txn(0, 1, (0, 0, 1), (0, 1, 2), (0, 2, 3))
    .op(1, "begin", txn="2")
    .poll(1, "{0 [[0 1] [1 2]]}", "{0 0}", "{0 2}", txn="2")
    .op(1, "send-offsets", '["g" [[0 2]]]', txn="2")
    .send(1, 2, 1, 0, 9)
    .op(1, "end", ":commit", txn="2")
)


def again(first: int, last: int) -> Txns:
    """CONSUMED, and a second transaction of the group that consumes from `first` to `last`."""
    told = Txns()
    told.lines = list(CONSUMED.lines)
    records = " ".join(f"[{offset} {offset + 1}]" for offset in range(first, last))
    poll = f"{{0 [{records}]}}", f"{{0 {first}}}", f"{{0 {last}}}"
    told.op(2, "begin", txn="3").poll(2, *poll, txn="3")
    told.op(2, "send-offsets", f'["g" [[0 {last}]]]', txn="3").op(2, "end", ":commit", txn="3")
    return told


BAD = {
    "unstable-fate": Txns()
    .txn(0, 1, *BOTH, end="commit info")
    .poll(8, "{0 [[0 1]]}", "{0 0}", "{0 2}")
    .poll(9, "{0 []}", "{0 0}", "{0 2}"),
    "torn-transaction": Txns()
    .txn(0, 1, *BOTH, end="commit info")
    .poll(9, "{0 [[0 1]] 1 []}", "{0 0 1 0}", "{0 2 1 2}"),
    "lost-commit": Txns().txn(0, 1, *BOTH).poll(9, "{0 [] 1 []}", "{0 0 1 0}", "{0 2 1 2}"),
    "zombie-write": Txns()
    .op(0, "init", '"id"')
    .op(0, "begin", txn="1")
    .op(1, "init", '"id"')
    .send(0, 1, 0, 0, 1)
    .poll(9, "{0 [[0 1]]}", "{0 0}", "{0 1}"),
    "zombie-commit": Txns()
    .op(0, "init", '"id"')
    .op(0, "begin", txn="1")
    .op(1, "init", '"id"')
    .op(0, "end", ":commit", txn="1")
    .op(2, "send", "[[:send 0 7]]", "[[:send 0 [0 7]]]"),
    "G1c": Txns()
    .op(0, "begin", txn="1")
    .op(1, "begin", txn="2")
    .send(0, 1, 0, 0, 1)
    .send(1, 2, 1, 0, 2)
    .poll(0, "{1 [[0 2]]}", "{1 0}", "{1 1}", txn="1")
    .poll(1, "{0 [[0 1]]}", "{0 0}", "{0 1}", txn="2")
    .op(0, "end", ":commit", txn="1")
    .op(1, "end", ":commit", txn="2"),
    "torn-offsets": Txns()
    .txn(0, 1, (0, 0, 1))
    .op(1, "begin", txn="2")
    .op(1, "send-offsets", '["g" [[0 1]]]', txn="2")
    .op(1, "end", ":abort", txn="2")
    .op(1, "committed", '["g" nil]', '["g" [[0 1]]]'),
    "input-twice": again(1, 3),
    "input-skipped": Txns().txn(0, 9, (0, 3, 4)),
    "refused-transaction": at(0, Txns().op(0, "begin", txn="1")).op(
        *(0, "send", "[[:send 0 7]]"), txn="1", outcome="fail", error=REFUSED_AS, time=str(SECOND)
    ),
    "stuck-producer": unanswered(60, 195),
}
BAD["input-skipped"].lines = [
    *BAD["input-skipped"].lines,
    *again(3, 4).lines,
    *Txns().poll(9, "{0 [[0 1] [1 2] [2 3] [3 4]]}", "{0 0}", "{0 5}").lines,
]


def test_a_value_of_two_transactions_leaves_open_whose_record_was_read(tmp_path: Path) -> None:
    told = Txns()
    for txn in (1, 2):
        told.op(txn, "begin", txn=str(txn))
        told.op(txn, "send", "[[:send 0 1]]", txn=str(txn), outcome="info")
        told.op(txn, "end", ":commit", txn=str(txn), outcome="info")
    told.poll(9, "{0 [[0 1]]}", "{0 0}", "{0 2}")
    report = told.report(tmp_path / "history.edn")
    assert report.verdict == "unknown"
    assert "a value was sent more than once in transactions" in str(report)


def test_of_two_reads_of_a_circle_the_first_is_told(tmp_path: Path) -> None:
    told, again = Txns(), Txns().poll(0, "{1 [[0 2]]}", "{1 0}", "{1 1}", txn="1").lines
    told.lines = [*BAD["G1c"].lines[:-4], *again, *BAD["G1c"].lines[-4:]]
    once, twice = (each.report(tmp_path / "history.edn") for each in (BAD["G1c"], told))
    [first], [same] = ([e for e in of.anomalies if e.name == "G1c"] for of in (once, twice))
    assert same.certificates[0].operations == first.certificates[0].operations


def test_who_reads_what_no_transaction_wrote_reads_from_none(tmp_path: Path) -> None:
    """And not from the last one, which here read from it."""
    told = Txns().op(3, "send", "[[:send 2 9]]", "[[:send 2 [0 9]]]").op(0, "begin", txn="1")
    told.send(0, 1, 0, 0, 1).poll(0, "{2 [[0 9]]}", "{2 0}", "{2 1}", txn="1")
    told.op(0, "end", ":commit", txn="1").op(1, "begin", txn="2")
    told.poll(1, "{0 [[0 1]]}", "{0 0}", "{0 1}", txn="2").send(1, 2, 1, 0, 2)
    found = told.op(1, "end", ":commit", txn="2").report(tmp_path / "history.edn")
    assert found.holds and found.transactions == 2, found


def test_every_name_is_planted() -> None:
    assert set(BAD) == set(ACROSS)


@pytest.mark.parametrize("name", GOOD)
def test_what_correct_clusters_do_holds(name: str, tmp_path: Path) -> None:
    found = GOOD[name].report(tmp_path / "history.edn")
    assert found.holds, found
    assert found.transactions


@pytest.mark.parametrize("name", BAD)
def test_a_planted_anomaly_is_found(name: str, tmp_path: Path) -> None:
    found = BAD[name].report(tmp_path / "history.edn")
    assert found.verdict == "violated" and name in names(found), found
    told = next(each for each in found.anomalies if each.name == name)
    assert told.count == 1 and 1 <= len(told.certificates[0].operations) <= 2


def test_what_a_process_read_before_it_began_is_its_input(tmp_path: Path) -> None:
    """As applications do: poll, begin, write, commit."""
    told, poll = (
        Txns().txn(9, 9, (0, 0, 1), (0, 1, 2)),
        ("{0 [[0 1] [1 2]]}", "{0 0}", "{0 2}"),
    )
    for process, txn in ((1, "1"), (2, "2")):
        told.poll(process, *poll).op(process, "begin", txn=txn).send(
            process, int(txn), 1, process, 7
        )
        told.op(process, "send-offsets", '["g" [[0 2]]]', txn=txn)
        told.op(process, "end", ":commit", txn=txn)
    assert names(told.report(tmp_path / "history.edn")) == {"input-twice"}


@pytest.mark.parametrize("late", [False, True])
def test_who_is_initialised_last_may_be_answered_first(late: bool, tmp_path: Path) -> None:
    """A producer is fenced from then on, and not from its own answer."""
    first, slow, last = (Txns().op(at, "init", '"id"').lines for at in (0, 1, 2))
    told = Txns().txn(0, 1, (0, 0, 1))
    again = Txns().op(0, "begin", txn="2").send(0, 2, 0, 2, 7) if late else Txns()
    told.lines = [*first, slow[0], *told.lines, *last, *again.lines, slow[1]]
    told.poll(9, "{0 [[2 7]]}", "{0 2}", "{0 3}") if late else None
    found = told.report(tmp_path / "history.edn")
    assert ("zombie-write" in names(found)) == late and found.holds != late, found
    if late:
        told_by = next(each for each in found.anomalies if each.name == "zombie-write")
        assert told_by.certificates[0].operations[0] == 5, "of the last, which was answered"


@pytest.mark.parametrize("shown", [True, False])
def test_what_is_shown_of_a_transaction_proves_that_it_consumed(
    shown: bool, tmp_path: Path
) -> None:
    """Nobody told its producer."""
    told = again(1, 3)
    end = told.lines.index(told.op(2, "end", ":commit", txn="3").lines.pop())
    told.lines = told.lines[: end - 1]
    told.send(2, 3, 1, 9, 9).op(2, "end", ":commit", txn="3", outcome="info")
    told.poll(9, "{1 [[9 9]]}" if shown else "{1 []}", "{1 9}", "{1 10}" if shown else "{1 9}")
    found = told.report(tmp_path / "history.edn")
    assert names(found) == ({"input-twice"} if shown else set()), found


def test_offsets_that_a_commit_left_behind(tmp_path: Path) -> None:
    told = again(2, 3)
    told.poll(9, "{1 [[0 9]]}", "{1 0}", "{1 1}").op(2, "committed", '["g" nil]', '["g" [[0 1]]]')
    found = told.report(tmp_path / "history.edn")
    assert "torn-offsets" in names(found), found
    assert "less than transaction 2 sent" in str(found)


# -- What Jepsen found, by its own form of histories

JEPSEN = {
    # Redpanda 21.10.1 (2022): an aborted read, a circle, a lost write, a record twice, two of them
    # at one offset, one that consumers go past; Bufstream 0.1.0 (2024), and Kafka with it: a torn
    # transaction, by an end that arrives during the next one (KAFKA-17754).
    "duplicate": Txns()
    .op(0, "txn", "[[:send 0 1]]", "[[:send 0 [0 1]]]")
    .op(1, "poll", "[[:poll]]", "[[:poll {0 [[0 1] [1 1]]}]]"),
    "inconsistent-offsets": Txns()
    .op(0, "txn", "[[:send 0 1]]", "[[:send 0 [0 1]]]")
    .op(1, "poll", "[[:poll]]", "[[:poll {0 [[0 2]]}]]")
    .op(2, "txn", "[[:send 0 2]]", "[[:send 0 [0 2]]]"),
    "poll-skip": Txns()
    .op(0, "txn", "[[:send 0 1]]", "[[:send 0 [0 1]]]")
    .op(0, "txn", "[[:send 0 2]]", "[[:send 0 [1 2]]]")
    .op(0, "txn", "[[:send 0 3]]", "[[:send 0 [2 3]]]")
    .op(1, "poll", "[[:poll]]", "[[:poll {0 [[0 1]]}]]")
    .op(1, "poll", "[[:poll]]", "[[:poll {0 [[2 3]]}]]")
    .op(2, "poll", "[[:poll]]", "[[:poll {0 [[0 1] [1 2] [2 3]]}]]"),
    "G1a": Txns()
    .op(0, "txn", "[[:send 0 1] [:send 1 2]]", outcome="fail")
    .op(1, "poll", "[[:poll]]", "[[:poll {0 [[0 1]]}]]"),
    "G1c": Txns()
    .op(0, "txn", "[[:send 0 1] [:poll]]", "[[:send 0 [0 1]] [:poll {1 [[0 2]]}]]")
    .op(1, "txn", "[[:send 1 2] [:poll]]", "[[:send 1 [0 2]] [:poll {0 [[0 1]]}]]"),
    "torn-transaction": Txns()
    .op(0, "txn", "[[:send 0 1] [:send 1 2]]", outcome="info")
    .op(1, "txn", "[[:send 1 3] [:send 1 4]]", "[[:send 1 [2 3]] [:send 1 [3 4]]]")
    .op(2, "poll", "[[:poll]]", "[[:poll {0 [[0 1]] 1 [[2 3] [3 4]]}]]", **{"from": "[{1 0}]"})
    .op(
        3,
        "poll",
        "[[:poll]]",
        "[[:poll {1 [[0 2]]}]]",
        isolation=":read_uncommitted",
    ),
    "lost-commit": Txns()
    .op(0, "txn", "[[:send 0 1] [:send 1 2]]", "[[:send 0 [0 1]] [:send 1 [0 2]]]")
    .op(0, "txn", "[[:send 0 3] [:send 0 4]]", "[[:send 0 [2 3]] [:send 0 [3 4]]]")
    .op(1, "poll", "[[:poll]]", "[[:poll {0 [[2 3] [3 4]]}]]", **{"from": "[{0 0}]"}),
}


@pytest.mark.parametrize("name", JEPSEN)
def test_what_jepsen_reported_is_found(name: str, tmp_path: Path) -> None:
    found = JEPSEN[name].report(tmp_path / "history.edn")
    assert name in names(found), found


def test_a_record_that_nobody_ever_saw_tears_a_transaction(tmp_path: Path) -> None:
    told = Txns().op(0, "txn", "[[:send 0 1] [:send 1 2]]", outcome="info")
    told.op(1, "poll", "[[:poll]]", "[[:poll {0 [[0 1]]}]]")
    assert told.report(tmp_path / "history.edn").holds
    found = told.report(tmp_path / "history.edn", complete=True)
    assert "torn-transaction" in names(found), found


def test_a_whole_transaction_that_is_refused(tmp_path: Path) -> None:
    told = Txns().op(0, "txn", "[[:send 0 1] [:send 1 2]]", outcome="fail", error=REFUSED_AS)
    found = at(0, told).report(tmp_path / "history.edn")
    assert names(found) == {"refused-transaction"}, found


def test_offsets_that_are_refused_in_the_words_of_the_java_client(tmp_path: Path) -> None:
    """Z188."""
    said = "Unexpected error in TxnOffsetCommitResponse: The producer attempted a transactional"
    sent = Txns().op(0, "begin", txn="1").op(0, "send", "[[:send 0 7]]", txn="1", outcome="info")
    more: dict[str, str] = {"txn": "1", "outcome": "fail", "time": str(SECOND)}
    more["error"] = f'"{said} operation in an invalid state."'
    told = at(0, sent).op(0, "send-offsets", '["g" [[0 1]]]', **more)
    found = told.report(tmp_path / "history.edn")
    assert names(found) == {"refused-transaction"}, found


def test_who_failed_may_be_waited_for(tmp_path: Path) -> None:
    moved = Envelope(leader_moves=1)
    found = BAD["stuck-producer"].report(tmp_path / "history.edn", envelope=moved)
    assert found.holds and "X22" in str([each.reason for each in found.anomalies])


# -- What weakens the judgement


def test_late_requests_of_tv1_are_told_and_allowed(tmp_path: Path) -> None:
    late = Configuration(transactions=True, isolation="read_committed", late_requests=True)
    found = BAD["torn-transaction"].report(tmp_path / "history.edn", configuration=late)
    assert found.holds and "KIP-890" in str([each.reason for each in found.anomalies])


def test_to_be_passed_over_means_nothing_in_a_compacted_topic(tmp_path: Path) -> None:
    compacted = Configuration(
        transactions=True, isolation="read_committed", compaction="keys-unknown"
    )
    found = BAD["torn-transaction"].report(tmp_path / "history.edn", configuration=compacted)
    assert "torn-transaction" not in {each.name for each in found.anomalies}


def test_a_value_of_two_unknown_transactions_is_nobodys(tmp_path: Path) -> None:
    told = Txns()
    for process in (0, 1):
        told.op(process, "txn", "[[:send 0 1] [:send 1 2]]", outcome="info")
    told.op(2, "poll", "[[:poll]]", "[[:poll {0 [[0 1]]}]]")
    found = told.report(tmp_path / "history.edn")
    assert found.verdict == "unknown" and "more than once" in str(found)


# -- Bad input

REFUSED = {
    "of transaction 1, which was not begun": Txns().op(0, "end", ":commit", txn="1"),
    "of transaction 1, which has ended": Txns()
    .txn(0, 1, (0, 0, 1))
    .op(0, "end", ":abort", txn="1"),
    "begins transaction 2 while 1 is open": Txns().op(0, "begin", txn="1").op(0, "begin", txn="2"),
    "transaction 1 begins a second time": Txns().txn(0, 1).op(1, "begin", txn="1"),
    "of transaction 7, which was not begun": Txns().send(0, 7, 0, 0, 1),
    "of transaction 8, which was not begun": Txns()
    .op(0, "begin", txn="8", outcome="fail")
    .send(0, 8, 0, 0, 1),
    "of transaction 6, which has ended": Txns()
    .op(0, "init", '"id"')
    .op(0, "begin", txn="6")
    .op(0, "init", '"id"')
    .op(0, "end", ":commit", txn="6"),
    "of transaction 5, which has ended": Txns()
    .txn(0, 5, (0, 0, 1), end="abort info")
    .op(0, "end", ":commit", txn="5"),
    "reads and writes are one operation": Txns()
    .txn(0, 1, (0, 0, 1))
    .op(1, "txn", "[[:send 0 7] [:poll]]", "[[:send 0 [4 7]] [:poll {0 [[0 1]]}]]"),
    "begin without the number": Txns().op(0, "begin"),
    "end without the number": Txns().op(0, "end", ":abort"),
    "not commit or abort": Txns().op(0, "end", ":maybe", txn="1"),
    "txn is :a, not a number": Txns().op(0, "begin", txn=":a"),
    'txn is "1", not a number': Txns().op(0, "begin", txn='"1"'),
    "init without a transactional id": Txns().op(0, "init"),
    "isolation is :some, none of": Txns().op(
        0, "poll", "[[:poll]]", "[[:poll {}]]", isolation=":some"
    ),
    "not of [group [[key offset] ...]]": Txns().op(0, "send-offsets", "[1 2]", txn="1"),
    "not of [group nil]": Txns().op(0, "committed", "nil"),
}


def refusable(reason: str) -> Txns:
    """With a send, so that it is of a log."""
    return deepcopy(REFUSED[reason]).op(5, "send", "[[:send 0 99]]")


@pytest.mark.parametrize("reason", REFUSED)
def test_bad_input_is_refused_in_a_line(reason: str, tmp_path: Path) -> None:
    told = refusable(reason)
    with pytest.raises(HistoryError) as refused:
        told.report(tmp_path / "history.edn")
    assert reason in str(refused.value) and refused.value.line and "\n" not in str(refused.value)


@pytest.mark.parametrize(("ended", "name"), [(True, "future-read"), (False, "G1a")])
def test_what_is_read_before_its_commit_was_asked_for_is_found(
    ended: bool, name: str, tmp_path: Path
) -> None:
    """Also if it never was: what is open in the end was not committed."""
    told = Txns().op(0, "begin", txn="1").send(0, 1, 0, 0, 5)
    told.poll(9, "{0 [[0 5]]}", "{0 0}", "{0 1}")
    if ended:
        told.op(0, "end", ":commit", txn="1")
    found = told.report(tmp_path / "history.edn")
    assert found.verdict == "violated" and name in names(found), found


def test_a_record_that_is_committed_twice_is_a_duplicate(tmp_path: Path) -> None:
    told = Txns().txn(0, 1, (0, 0, 5)).poll(9, "{0 [[0 5] [2 5]]}", "{0 0}", "{0 3}")
    found = told.report(tmp_path / "history.edn")
    assert found.verdict == "violated" and "duplicate" in names(found), found


def test_a_lost_commit_that_was_asked_for_twice_is_found(tmp_path: Path) -> None:
    told = Txns().txn(0, 1, *BOTH, end="commit info").op(0, "end", ":commit", txn="1")
    told.poll(9, "{0 [] 1 []}", "{0 0 1 0}", "{0 2 1 2}")
    assert "lost-commit" in names(told.report(tmp_path / "history.edn"))


def test_what_was_aborted_after_its_commit_failed_is_not_to_be_read(tmp_path: Path) -> None:
    told = Txns().txn(0, 1, *BOTH, end="commit fail").op(0, "end", ":abort", txn="1")
    told.poll(9, READ, "{0 0 1 0}", "{0 2 1 2}")
    assert "G1a" in names(told.report(tmp_path / "history.edn"))


WRITERS = ("jsonl", "parquet")


def written(history: History, format: str, folder: Path) -> Path:
    """A history as another format has it."""
    path = folder / f"history.{format}"
    lines = format == "jsonl"
    text = "".join(jsonlines.write(history)).encode() if lines else parquet.write(history)
    path.write_bytes(text)
    return path


OF_STEPS = (
    "of transaction 1, which was not begun",
    "of transaction 1, which has ended",
    "begins transaction 2 while 1 is open",
)


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("reason", OF_STEPS)
def test_every_reader_refuses_in_a_line(reason: str, format: str, tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text("\n".join(refusable(reason).lines))
    path = written(detect.read(tmp_path / "history.edn"), format, tmp_path)
    result = CliRunner().invoke(cli, ["check", str(path), "--quiet"])
    assert result.exit_code == 3 and not result.stdout
    assert reason in result.stderr and f"{path}:" in result.stderr
    assert result.stderr.count("\n") == 1


CUT = (
    Txns()
    .txn(0, 1, *BOTH)
    .txn(0, 2, (0, 2, 3), (1, 2, 4))
    .poll(9, "{0 [[0 1] [2 3]] 1 [[0 2] [2 4]]}", "{0 0 1 0}", "{0 4 1 4}")
)


@pytest.mark.parametrize("format", ["edn", *WRITERS])
@pytest.mark.parametrize("lines", range(len(CUT.lines) + 1))
def test_a_history_that_is_cut_anywhere_is_nobodys_fault(
    lines: int, format: str, tmp_path: Path
) -> None:
    """It holds as far as it goes: unknown before an answer, refused before anything was sent."""
    path = tmp_path / "history.edn"
    path.write_text("\n".join(CUT.lines[:lines]))
    if lines and format != "edn":
        path = written(detect.read(path), format, tmp_path)
    result = CliRunner().invoke(cli, ["check", str(path), "--quiet", "--no-complete"])
    assert result.exit_code == (3 if lines < 3 else 2 if lines == 3 else 0), result.output
    assert "Traceback" not in result.output and result.output.count("\n") == 1


# -- Enumeration


@pytest.mark.slow
def test_agrees_with_an_enumeration_of_fates() -> None:
    found = [transaction_worlds.compare(seed) for seed in range(600)]
    assert found.count("violated") > 50 and found.count("holds") > 200
    # A consumer of whom it is only known where it stood after a poll that showed nothing.
    assert transaction_worlds.compare(13_019_134) == "violated"


def test_the_enumeration_notices_a_checker_that_passes_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transaction_worlds, "broken", lambda fates: [])
    with pytest.raises(AssertionError):
        for seed in range(600):
            transaction_worlds.compare(seed)
