"""The checker as a library: verdict, level and promise, evidence, and what is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, given

from kraftcheck.reference.clients.promises import (
    ANYTHING_CLEAN,
    NOTHING,
    Configuration,
    Envelope,
    Level,
    promised,
)
from kraftcheck.traces.checkers import columns
from kraftcheck.traces.checkers.assessment import assess
from kraftcheck.traces.checkers.check import configuration_in
from kraftcheck.traces.checkers.columns import from_history
from kraftcheck.traces.checkers.models import Register
from kraftcheck.traces.history import History, HistoryError, Operation
from tests.traces.checkers.calls import (
    call,
    check_what_was_read as check_history,
    history,
    together,
)
from tests.traces.formats.builders import histories

LOG = "partition-log"
APPENDS = (call("append", 0, 5, "a", 0), call("append", 10, 15, "b", 1))
STALE = history(*APPENDS, call("fetch", 20, 25, 1, (), end=1), model=LOG)
LOST = history(
    *APPENDS,
    call("append", 20, 25, "c", 1),
    call("fetch", 30, 35, 0, ((0, "a"), (1, "c"))),
    model=LOG,
)
MISSED = history(
    call("append", 0, 5, "a"),
    call("append", 0, 5, "b", 0),
    call("fetch", 30, 35, 0, ((0, "b"),), end=1),
    model=LOG,
)


def by_process(*calls: Operation) -> History:
    """In the order in which they are given, of the processes that they say."""
    numbered = (msgspec.structs.replace(each, index=at, group=at) for at, each in enumerate(calls))
    return msgspec.structs.replace(STALE, operations=tuple(numbered))


def test_only_of_transactions_the_committed_is_read() -> None:
    assert configuration_in(STALE).isolation == Configuration().isolation == "read_uncommitted"


def test_a_log_that_holds() -> None:
    found = check_history(history(*APPENDS, model=LOG))
    assert found.holds and (found.level, found.promised) == ("linearizable", "linearizable")
    assert str(found).startswith("holds: held linearizable, promised linearizable")


def test_a_log_that_breaks_its_promise_says_why() -> None:
    found = check_history(STALE)
    assert found.verdict == "violated" and not found.holds
    (part,) = found.parts
    assert part.certificate is not None and part.certificate.operations == (1, 2)
    said = str(found).splitlines()
    assert said[0] == "violated: held bounded-staleness, promised linearizable"
    assert "missed the record at offset 1" in said[2] and said[3] == "  [operations 1, 2]"
    assert said[4:] == ["not allowed: stale-read 1", "inconclusive: unseen 1, unread 1"]
    (stale,) = found.staleness
    assert (stale.reads, stale.delays, stale.missed) == (1, (5,), (1,))


def test_an_empty_fetch_tells_what_it_missed_as_an_end_does() -> None:
    empty = call("fetch", 20, 25, 1, ())
    (stale,) = check_history(history(*APPENDS, empty, model=LOG)).staleness
    assert (stale.reads, stale.delays, stale.missed) == (1, (5,), (1,))
    # What came later was not missed.
    later = history(*APPENDS, empty, call("append", 30, 35, "c", 2), model=LOG)
    assert check_history(later).staleness[0].missed == (1,)
    # Two that are equally late are two.
    (stale,) = check_history(history(*APPENDS, empty, empty, model=LOG)).staleness
    assert (stale.reads, stale.delays, stale.missed) == (2, (5, 5), (1, 1))
    # From nowhere, it says nothing.
    silent = call("fetch", 20, 25, None, ())
    assert check_history(history(*APPENDS, silent, model=LOG)).staleness == ()


def test_what_went_wrong_excuses_only_what_comes_of_it() -> None:
    assert check_history(STALE, envelope=ANYTHING_CLEAN).holds
    assert not check_history(LOST, envelope=ANYTHING_CLEAN).holds
    assert check_history(LOST, envelope=Envelope(unclean_moves=1)).promised == "nothing"
    assert check_history(LOST, envelope=Envelope(unclean_moves=1)).holds
    acks_one = Configuration(acks="1")
    assert check_history(LOST, configuration=acks_one, envelope=ANYTHING_CLEAN).holds
    assert not check_history(LOST, configuration=acks_one).holds


def test_what_is_allowed_is_told_with_its_reason_and_is_no_evidence() -> None:
    found = check_history(STALE, envelope=ANYTHING_CLEAN)
    assert found.parts[0].certificate is None
    allowed = promised(Configuration(), ANYTHING_CLEAN).allowed
    stale, *unread = found.anomalies
    assert stale.reason.endswith(f"; {allowed['stale-read']}")
    assert [each.name for each in unread] == ["unseen", "unread"]
    assert all("; inconclusive: " in each.reason for each in unread)


def test_a_level_takes_the_place_of_the_promise() -> None:
    assert check_history(STALE, level=Level.BOUNDED_STALENESS).holds
    found = check_history(STALE, level=Level.REGULAR_SESSIONS)
    assert not found.holds and found.because == "this level was asked for"
    assert "regular-sessions does not hold" in found.anomalies[0].reason


def test_an_append_that_a_read_missed_is_lost_or_the_read_is_stale() -> None:
    """Told no offset, its record may stand behind all that was read: as if it had been told 1."""
    told = history(
        *(call("append", 0, 5, "a", 1), call("append", 0, 5, "b", 0)),
        call("fetch", 30, 35, 0, ((0, "b"),), end=1),
        model=LOG,
    )
    for each in (MISSED, told):
        found = check_history(each)
        assert (found.verdict, found.level) == ("violated", "bounded-staleness")
        assert found.parts[0].certificate and found.parts[0].certificate.kind == "stale-read"
        moved = check_history(each, envelope=ANYTHING_CLEAN)
        assert (moved.verdict, moved.level) == ("holds", "bounded-staleness")


def test_an_append_without_a_place_is_lost_where_that_is_allowed() -> None:
    """It had returned before the first record of the log was sent, which it cannot follow."""
    nowhere = history(call("append", 0, 5, "a"), call("append", 10, 15, "b", 0), model=LOG)
    for envelope in (NOTHING, ANYTHING_CLEAN):
        found = check_history(nowhere, envelope=envelope)
        assert (found.verdict, found.level) == ("violated", "sequential")
        assert found.parts[0].certificate and found.parts[0].certificate.kind == "unplaced-append"
    # With acks=0 nobody is told an offset, and a record may come late, or never.
    assert check_history(nowhere, configuration=Configuration(acks="0")).holds


def test_a_process_misses_its_own_append_without_an_offset() -> None:
    """Stale reads are allowed here, but not that a process sees less than it knows."""
    own = (call("append", 0, 5, "a", process=7), call("fetch", 10, 15, 0, (), process=7))
    again = call("fetch", 30, 35, 0, (), process=8)
    moved, apart = Envelope(leader_moves=1), Configuration(one_client=False)
    for calls, verdict, level in (
        ((*own, again), "violated", "durable-prefix"),
        ((own[0], again), "holds", "bounded-staleness"),
    ):
        found = check_history(by_process(*calls), envelope=moved, configuration=apart)
        assert (found.verdict, found.level) == (verdict, level)
    found = check_history(by_process(*own), envelope=moved, configuration=apart)
    assert found.parts[0].certificate is not None
    assert found.parts[0].certificate.kind == "session-regress"
    assert found.parts[0].certificate.operations == (0, 1)


def test_an_append_without_an_offset_stands_in_a_gap_or_not() -> None:
    """An offset between two known ones may be a control record's, or this append's: unless a fetch
    went through it.
    """
    calls = (
        call("append", 0, 5, "a", 0),
        call("append", 10, 15, "b"),
        call("append", 20, 25, "c", 2),
    )
    through = call("fetch", 30, 35, 0, ((0, "a"), (2, "c")))
    for more, verdict in (((), "holds"), ((through,), "violated")):
        assert check_history(history(*calls, *more, model=LOG), gaps=True).verdict == verdict


def test_with_acks_of_none_a_record_may_come_after_its_answer() -> None:
    """b was sent when a was answered, and came before it: then nobody has read offset 0 yet."""
    late = history(
        *(call("append", 0, 5, "a"), call("append", 50, 55, "b")),
        call("fetch", 110, 115, 1, ((1, "a"),)),
        model=LOG,
    )
    assert check_history(late).verdict == "violated"
    assert check_history(late, configuration=Configuration(acks="0")).holds
    # A record that nobody can have sent is none that came late.
    strange = history(call("append", 0, 5, "a"), call("fetch", 10, 15, 1, ((1, "a"),)), model=LOG)
    assert not check_history(strange, configuration=Configuration(acks="0")).holds


def test_control_records_explain_gaps() -> None:
    gap = history(call("append", 0, 5, "a", 3), model=LOG)
    assert check_history(gap).verdict == "violated"
    assert check_history(gap, gaps=True).holds
    assert check_history(gap, configuration=Configuration(transactions=True)).holds


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        (
            (call("fetch", 0, 5, 0, ((0, "a"),)), call("append", 10, 15, "a", 0)),
            "future-read",
        ),
        ((call("append", 0, 5, "b", 1), call("append", 10, 15, "a", 0)), "append-order"),
        ((call("latest", 0, 5, None, 1), call("append", 10, 15, "a")), "hole"),
        ((call("append", 0, 5, "b", 1), call("append", 10, None, "a")), "append-order"),
    ],
)
def test_a_stale_read_beside_it_hides_nothing(calls: tuple[Operation, ...], kind: str) -> None:
    """A read that missed the same began later still, and would be to blame, were it not allowed."""
    missed = call("fetch", 20, 25, 0, ())
    for more in ((), (missed,)):
        found = check_history(history(*calls, *more, model=LOG), envelope=ANYTHING_CLEAN)
        certificate = found.parts[0].certificate
        assert found.verdict == "violated" and certificate is not None
        assert certificate.kind == kind
        assert kind in {each.name for each in found.anomalies if not each.allowed}


def test_nobody_reads_an_aborted_record_before_it_is_sent() -> None:
    """Who may see aborted records still sees no future."""
    uncommitted = Configuration(transactions=True)
    aborted = call("append", 10, 15, "a", outcome="fail")
    early, late = (call("fetch", at, at + 5, 0, ((0, "a"),)) for at in (0, 20))
    assert check_history(history(late, aborted, model=LOG), configuration=uncommitted).holds
    found = check_history(history(early, aborted, model=LOG), configuration=uncommitted)
    certificate = found.parts[0].certificate
    assert found.verdict == "violated" and certificate is not None
    assert (certificate.kind, certificate.sentence) == (
        "future-read",
        "the fetch saw offset 0 and was over before the append of a was invoked",
    )


def test_a_consumer_that_goes_back_may_find_less_than_it_had_read() -> None:
    """A new leader does not know yet how far it has been read (P20); forward, that is not seen."""
    sent = (*APPENDS, call("append", 20, 25, "c", 2))
    read = call("fetch", 30, 35, 0, ((0, "a"), (1, "b"), (2, "c")), process=7)
    moved = Envelope(leader_moves=1)
    for start, process, verdict, level in (
        (1, 7, "holds", "durable-prefix"),
        (1, 8, "holds", "ordered-sequential"),
        (3, 7, "holds", "ordered-sequential"),
    ):
        again = call("fetch", 40, 45, start, (), process=process)
        found = check_history(by_process(*sent, read, again), envelope=moved)
        assert (found.verdict, found.promised) == (verdict, level), (start, process)
    back = call("fetch", 40, 45, 1, ((1, "b"), (2, "c")), process=7)
    onward = call("fetch", 50, 55, 3, (), process=7)
    found = check_history(by_process(*sent, read, back, onward), envelope=moved)
    assert found.promised == "durable-prefix"
    own = call("latest", 40, 45, None, 1, process=7)
    known = Configuration(one_client=False)
    found = check_history(by_process(*sent, read, own), configuration=known, envelope=moved)
    assert found.verdict == "violated"


@pytest.mark.parametrize(("reader", "level"), [(7, "durable-prefix"), (8, "sequential")])
def test_a_process_fills_no_hole_below_what_it_has_read(reader: int, level: str) -> None:
    """Only a can stand at 0; whoever had read 1 before appends behind it, whatever the clock."""
    calls = (
        call("append", 0, 5, "b", 1, process=6),
        call("fetch", 10, 15, 1, ((1, "b"),), process=reader),
        call("append", 20, None, "a", process=7),
    )
    found = check_history(by_process(*calls))
    assert (found.verdict, found.level) == ("violated", level)


def test_a_hole_is_told_with_what_bounds_it() -> None:
    found = check_history(
        history(call("latest", 0, 5, None, 1), call("append", 10, 15, "a"), model=LOG)
    )
    (certificate,) = (each.certificate for each in found.parts)
    assert certificate is not None and (certificate.operations, certificate.sentence) == (
        (0,),
        "offset 0 must hold a record, and no append is left that can have written it before "
        "operation 0 was over",
    )


def test_what_nobody_saw_is_lost_if_everything_was_read() -> None:
    seen = history(*APPENDS, model=LOG)
    verdicts = [check_history(seen, complete=c).verdict for c in (True, False, None)]
    assert verdicts == ["violated", "holds", "unknown"]


@pytest.mark.parametrize(
    ("complete", "said"),
    [(False, "consumers stopped before the end"), (None, "it is not known that everything was")],
)
def test_the_report_says_what_is_known_of_the_end(complete: bool | None, said: str) -> None:
    [unseen] = check_history(history(*APPENDS, model=LOG), complete=complete).anomalies
    assert said in unseen.reason


def test_what_nobody_read_may_be_lost_and_the_report_says_by_what_right() -> None:
    weak = Configuration(acks="1")
    found = check_history(history(*APPENDS, model=LOG), configuration=weak, envelope=ANYTHING_CLEAN)
    allowed = promised(weak, ANYTHING_CLEAN).allowed
    assert found.anomalies[0].reason.endswith(f"; {allowed['unseen']}")


def test_it_is_open_who_wrote_what_whatever_nobody_read() -> None:
    """To say that everything was read would not decide it."""
    twice = (call("append", 0, 5, "a"), call("append", 0, None, "a"))
    read = call("fetch", 20, 35, 0, ((0, "a"),))
    unread = history(*twice, call("append", 60, 65, "z", 2), read, model=LOG)
    (part,) = check_history(unread, complete=None).parts
    assert part.verdict == "unknown" and str(part.reason).endswith("who wrote what is open")


def test_of_two_reads_that_begin_together_the_one_that_missed_it_is_told() -> None:
    saw = call("fetch", 20, 25, 0, ((0, "a"), (1, "b")), end=2)
    missed = call("fetch", 20, 26, 1, (), end=1)
    (part,) = check_history(history(*APPENDS, saw, missed, model=LOG)).parts
    assert part.certificate is not None and part.certificate.operations == (1, 3)


def test_other_models_are_searched() -> None:
    calls = (call("write", 0, 5, 1), call("read", 10, 15, None, 2))
    for model in ("register", Register()):
        found = check_history(history(*calls), model=model)
        assert (found.verdict, found.model) == ("violated", "register")
        assert found.parts[0].certificate is not None and found.parts[0].level is None
    (part,) = check_history(history(*calls[:1], model="register")).parts
    assert (part.verdict, part.level) == ("holds", "linearizable")


def test_what_cannot_be_judged_is_said() -> None:
    with pytest.raises(ValueError, match="no model is known"):
        check_history(history(call("frobnicate", 0, 1)))
    with pytest.raises(ValueError, match="no operation on a log"):
        check_history(history(model=LOG))
    with pytest.raises(KeyError, match="no model 'tree'"):
        check_history(STALE, model="tree")
    with pytest.raises(HistoryError):
        check_history(STALE, model="register")
    with pytest.raises(ValueError, match="no operation on a log"):
        from_history(history(call("write", 0, 5, 1)))


# -- In columns


def test_each_segment_has_a_promise_of_its_own() -> None:
    strict, weak = promised(Configuration()), promised(Configuration(), ANYTHING_CLEAN)
    batch = together(*map(from_history, (STALE, STALE, LOST, history(*APPENDS))))
    found = assess(batch, [strict, weak, weak, strict], complete=False)
    assert found.violated.tolist() == [True, False, True, False]
    assert [found.verdict(each) for each in found.segments] == [
        *("violated", "holds", "violated", "holds"),
    ]
    stale = next(each for each in found.reported() if each.name == "stale-read")
    assert (stale.count, stale.allowed) == (2, False)
    assert stale.certificates[0].operations == (1, 2)


def test_a_promise_for_each_segment_is_needed() -> None:
    with pytest.raises(ValueError, match="1 promises for 2 partitions"):
        assess(together(*map(from_history, (STALE, LOST))), [promised(Configuration())])


def test_a_stale_read_moves_no_start() -> None:
    """Who read below a start saw what a later read missed: stale, and no start went back."""
    below = call("fetch", 6, 8, 0, ((0, "a"), (1, "b")))
    told = call("earliest", 10, 20, None, 1)
    missed = call("fetch", 30, 35, 0, ())
    sent = (call("append", 0, 5, "a", 0), call("append", 0, 5, "b", 1))
    acks_one = Configuration(acks="1", retries=False, idempotence=False)
    assert check_history(history(*sent, below, told, model=LOG)).holds
    stale = history(*sent, below, told, missed, model=LOG)
    assert check_history(stale, configuration=acks_one).holds
    found = check_history(stale)
    assert [a.name for a in found.anomalies if not a.allowed] == ["stale-read"]
    sentences = {c.sentence: c.operations for c in found.anomalies[0].certificates}
    (said,) = (each for each in sentences if "log's start" in each)
    assert "told as 1, and missed what operation 2 had seen" in said
    assert sentences[said] == (3, 4)
    read = call("fetch", 30, 35, 0, ((0, "a"),))
    refused = call("earliest", 10, 20, None, 1, outcome="fail")
    assert check_history(history(*sent, refused, read, model=LOG), configuration=acks_one).holds
    late = history(*sent, told, read, model=LOG)
    regress = check_history(late, configuration=acks_one)
    assert [a.name for a in regress.anomalies if not a.allowed] == ["start-regress"]


def test_an_append_without_an_offset_is_named_by_where_it_was_read() -> None:
    """Its own acknowledgement is missing; the read that saw it before it was sent shows it."""
    seen = call("fetch", 6, 8, 0, ((0, "a"), (1, "b")))
    found = check_history(
        history(call("append", 0, 5, "a", 0), seen, call("append", 10, None, "b"), model=LOG)
    )
    (said,) = {each.sentence for a in found.anomalies for each in a.certificates}
    assert said.endswith("before the append of offset 1 was invoked")


def test_a_read_is_named_by_its_verb_and_what_holds_has_no_reason() -> None:
    sent = call("append", 0, 5, "a", 0)
    missed = check_history(history(sent, call("latest", 10, 15, None, 0), model=LOG))
    assert "the latest missed the record" in missed.anomalies[0].certificates[0].sentence
    read = check_history(history(sent, call("fetch", 10, 15, 0, ((0, "a"),)), model=LOG))
    assert read.holds and [part.reason for part in read.parts] == [None]


def test_offsets_that_are_used_again_hold_what_was_sent() -> None:
    """Two values at an offset are allowed with acks=1; that nobody sent the second is not."""
    acks_one = Configuration(acks="1", retries=False, idempotence=False)
    sent = (*APPENDS, call("append", 12, None, "c"), call("append", 12, 14, "d", outcome="fail"))
    for strange, expected in (("c", None), ("d", "G1a"), ("x", "phantom")):
        own = call("fetch", 30, 35, 1, ((1, strange),))
        other = (call("fetch", 30, 35, 2, ((2, "c"),)), call("fetch", 40, 45, 2, ((2, strange),)))
        for reads in ((own,), other):
            found = check_history(
                history(*sent, *reads, model=LOG), configuration=acks_one, envelope=ANYTHING_CLEAN
            )
            assert {a.name for a in found.anomalies if not a.allowed} == {expected} - {None}


def test_a_record_stands_once_wherever_it_was_read() -> None:
    """Below a start that was told, too, and where another was acknowledged: it was sent once."""
    acks_one = Configuration(acks="1", retries=False, idempotence=False)
    start = call("earliest", 50, 55, None, 1)
    for read in (((0, "b"),), ((0, "a"), (2, "b")), ((0, "b"), (1, "a"))):
        calls = (*APPENDS, call("fetch", 30, 35, 0, read), start)
        found = check_history(
            history(*calls, model=LOG), configuration=acks_one, envelope=ANYTHING_CLEAN
        )
        assert [a.name for a in found.anomalies if not a.allowed] == ["duplicate"], read
    told = found.anomalies[0].certificates[0]
    assert told.sentence.startswith(
        "the record b was acknowledged at offset 1 and read at offset 0"
    )


def test_copies_are_told_where_another_segment_may_have_them() -> None:
    """One call judges all as at-least-once; who promised one record each is still held to that."""
    twice = history(*APPENDS, call("fetch", 20, 25, 1, ((1, "b"), (2, "a"))))
    once, often = promised(Configuration()), promised(Configuration(idempotence=False))
    found = assess(together(*[from_history(twice)] * 2), [once, often])
    assert found.violated.tolist() == [True, False]
    (certificate,) = found.anomalies.certificates("duplicate", 0)
    assert certificate.sentence == "the record a stands at offset 0 and again at offset 2"


@pytest.mark.parametrize("most", [1, 5])
@given(made=histories("partition-log"))
def test_partitions_are_judged_alike_in_one_batch_and_in_several(made: History, most: int) -> None:
    try:
        whole = check_history(made)
    except (HistoryError, ValueError):
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "BATCH_MAX", most)
        assert check_history(made) == whole


def test_evidence_of_several_batches_is_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [
        msgspec.structs.replace(each, key=key, process=at)
        for at, key in enumerate("abcdefgh")
        for each in (STALE if at % 2 else LOST).operations
    ]
    made = history(*broken, model=LOG)
    whole = check_history(made, complete=True)
    monkeypatch.setattr(columns, "BATCH_MAX", 1)
    assert check_history(made, complete=True) == whole and len(whole.anomalies) > 1
