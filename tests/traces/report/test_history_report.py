"""The page about a client history: what stands on it, what is left out, and that it is harmless."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from math import inf

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate
from kraftcheck.traces.history import INDETERMINATE, Annotation, History
from kraftcheck.traces.report import history_words as words
from kraftcheck.traces.report.history import EXAMPLES_MAX, OBJECTS_MAX, meaning, render
from kraftcheck.traces.report.history_choice import OPERATIONS_MAX, PROCESSES_MAX, choice, until
from kraftcheck.traces.report.history_order import OFFSETS_MAX, ROWS_MAX, orders
from kraftcheck.traces.report.history_staleness import lags
from kraftcheck.traces.report.history_timeline import LEFT, WIDTH, timeline
from kraftcheck.traces.report.judged import Anomaly, JudgedHistory, Object, Staleness
from tests.traces.report.histories import (
    KEY,
    divergent,
    judged,
    log_history,
    register_history,
    stale,
)

VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """The elements of a page; complains of tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(history: History, found: JudgedHistory | None = None) -> Page:
    return Page(render(history, found or stale(history)))


# -- What stands on it


def test_what_is_broken_beside_the_levels_of_reads_is_no_contradiction() -> None:
    found = stale(log_history(3, 20))
    assert "not as consistent as was promised" in meaning(found)
    beside = msgspec.structs.replace(found, level="linearizable", promised="ordered-sequential")
    assert "something else that was promised is broken" in meaning(beside)
    assert "as consistent" in meaning(msgspec.structs.replace(beside, verdict=HOLDS))


def test_verdict_promise_and_evidence_come_first() -> None:
    history = log_history(3, 20)
    found = stale(history)
    text = page(history, found).text
    places = [
        "VIOLATED",
        "promised is linearizable , held is ordered sequential",
        "acks=all, reads from the leader, clean elections",
        found.certificate.sentence,  # type: ignore[union-attr]
        "Timeline",
        "The log in the order of its offsets",
        "Anomalies",
        "Staleness",
        "kraftcheck check histories/history.edn",
    ]
    at = [text.find(place) for place in places]
    assert -1 not in at and at == sorted(at)


def test_an_anomaly_says_whether_it_is_allowed() -> None:
    text = page(log_history(3, 20)).text
    assert "stale-read 7 not allowed leader reads promise" in text
    assert "poll-skip 12 allowed consumers subscribe" in text
    assert "1 of 7 are listed" in text


@pytest.mark.parametrize("verdict", [HOLDS, UNKNOWN])
def test_a_history_without_evidence_has_a_timeline_too(verdict: str) -> None:
    history = log_history(2, 12)
    found = judged(history, verdict=verdict, reason="time is up" if verdict == UNKNOWN else None)
    text = page(history, found).text
    assert verdict.upper() in text and "Timeline" in text and "The evidence" not in text
    assert ("this is no pass" in text and "time is up" in text) == (verdict == UNKNOWN)


def test_certificate_links_lead_to_the_timeline() -> None:
    history = log_history(30, 300)
    made = page(history)
    targets = {a["id"] for _, a in made.elements if a.get("id")}
    links = {str(a["href"]) for a in made.all("a")}
    assert len(links) == 2 and {link.removeprefix("#") for link in links} <= targets
    ids = [a["id"] for _, a in made.elements if a.get("id")]
    assert len(ids) == len(set(ids))


def test_two_values_at_one_offset_are_told_apart() -> None:
    history, found = divergent()
    made = page(history, found)
    cells = [a["class"] for a in made.all("td") if a.get("class")]
    assert "c1" in cells and "c2" in cells
    assert "1 disputed offsets in view" in made.text


def test_a_history_that_agrees_disputes_nothing() -> None:
    """The negative twin of the colours above."""
    (order,) = orders(log_history(3, 20), [(KEY, [0])])
    assert not order.disputed and {c.colour for row in order.rows for c in row.cells if c} == {0}


def test_staleness_is_counted_by_size() -> None:
    (lag,) = lags([Staleness(key="k", reads=9, delays=(5, 50, 55, 0), missed=(1, 2, 3, 4))], "us")
    assert [(b.label, b.said) for b in lag.delays] == [
        ("< 1 µs", "1"),
        ("< 10 µs", "1"),
        ("< 100 µs", "2"),
    ]
    assert [(b.label, b.said) for b in lag.missed] == [("1", "1"), ("2 to 3", "2"), ("4 to 7", "1")]
    assert (lag.stale, lag.longest, lag.most) == (4, "55 µs", 4)
    assert lags([Staleness(key="k", reads=9, delays=(), missed=())], "us") == []


# -- What is left out is said


def test_caps_are_stated() -> None:
    history = log_history(300, 3000)
    text = page(history).text
    assert re.search(rf"drawn are \d+ of 3,000 operations \(at most {OPERATIONS_MAX}\)", text)
    assert re.search(rf"\d+ more processes were active here \(at most {PROCESSES_MAX} rows\)", text)
    assert f"offsets (at most {OFFSETS_MAX})" in text
    assert f"operations (at most {ROWS_MAX})" in text


def test_a_small_history_is_drawn_whole_and_says_nothing_of_caps() -> None:
    history = log_history(2, 12)
    made = page(history, judged(history))
    assert "at most" not in made.text
    bars = {a["id"] for a in made.all("g") if "bar" in str(a["class"])} - {None}
    assert len(bars) == 12


def test_many_objects_and_anomalies_are_cut_with_a_count() -> None:
    history = log_history(2, 12)
    objects = tuple(Object(key=f"k{at}", verdict=HOLDS) for at in range(OBJECTS_MAX + 7))
    certificate = Certificate(operations=(0,), kind="x", sentence="s", key=KEY)
    anomalies = (
        Anomaly(name="x", count=99, allowed=False, reason="r", certificates=(certificate,) * 50),
    )
    text = page(history, judged(history, objects=objects, anomalies=anomalies)).text
    assert "and 7 more, none worse than these." in text
    assert f"{EXAMPLES_MAX} of 99 are listed (at most {EXAMPLES_MAX})" in text


def test_the_worst_objects_come_first() -> None:
    history = log_history(2, 12)
    found = [Object(key=f"k{at}", verdict=HOLDS) for at in range(OBJECTS_MAX + 7)]
    found.append(Object(key="bad", verdict=VIOLATED))
    assert "bad violated" in page(history, judged(history, objects=tuple(found))).text


# -- The timeline's geometry


@given(
    processes=st.integers(1, 60),
    operations=st.integers(1, 150),
    seed=st.integers(0, 9),
    accused=st.lists(st.integers(0, 149), max_size=2),
)
def test_every_drawn_operation_has_its_place(
    processes: int, operations: int, seed: int, accused: list[int]
) -> None:
    history = log_history(processes, operations, seed)
    accused = [at for at in accused if at < operations]
    drawn = timeline(history, accused, KEY)
    assert len(drawn.operations) <= OPERATIONS_MAX
    assert {o.process for o in drawn.operations} <= {o.process for o in history.operations}
    assert set(accused) <= {o.index for o in drawn.operations}
    begun = [bar.operation for strip in drawn.strips for bar in strip.bars if bar.first]
    assert sorted(begun) == [o.index for o in drawn.operations]
    for strip in drawn.strips:
        by_row: dict[float, list[tuple[float, float]]] = {}
        for bar in strip.bars:
            assert bar.x >= LEFT - 0.1 and bar.x + bar.width <= WIDTH + 0.1
            assert strip.top <= bar.y <= strip.height - 24
            by_row.setdefault(bar.y, []).append((bar.x, bar.x + bar.width))
        for spans in by_row.values():
            spans.sort()
            for (_, end), (begin, _) in pairwise(spans):
                assert end <= begin + 0.2, "bars of one process cover each other"


@given(processes=st.integers(1, 9), operations=st.integers(1, 40), seed=st.integers(0, 9))
def test_points_lie_in_their_bars_and_in_the_witness_order(
    processes: int, operations: int, seed: int
) -> None:
    history = log_history(processes, operations, seed)
    witness = [o.index for o in history.operations if o.completed is not None]
    witness.sort(key=lambda at: history.operations[at].completed or inf)
    strips = timeline(history, (), KEY, witness).strips
    ranks = [point.rank for strip in strips for point in strip.points]
    assert ranks == sorted(ranks)
    drawn = {o.index for o in choice(history, (), KEY).drawn}
    assert len(ranks) == len(drawn & set(witness))
    for strip in strips:
        bars = {bar.operation: bar for bar in strip.bars}
        for point in strip.points:
            bar = bars[point.operation]
            assert bar.x <= point.x <= bar.x + bar.width and bar.y < point.y < bar.y + 18


def test_an_indeterminate_operation_is_never_over() -> None:
    operation = next(o for o in log_history(30, 300).operations if o.outcome == INDETERMINATE)
    assert operation.completed is not None and until(operation) == inf


def test_a_long_history_costs_no_more_than_its_length() -> None:
    history = log_history(10, 30_000)
    found = stale(history)
    begin = time.process_time()
    assert len(render(history, found)) < 200_000
    assert time.process_time() - begin < 5


# -- Harmless, whatever the history says

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`${}{{7*7}}\u202e\x1b[31m</style>-->"
)


def poisoned() -> tuple[History, JudgedHistory]:
    """A history and a judgement in which every text is an attack."""
    history = log_history(3, 20)
    operations = tuple(
        replace(
            each,
            f=each.f if each.index % 2 else EVIL,
            key=EVIL,
            argument=(EVIL, {EVIL: EVIL}.__repr__()),
            result=((0, EVIL),) if each.f == "fetch" else EVIL,
            error=EVIL,
        )
        for each in history.operations
    )
    annotations = (Annotation(at=1, until=10**9, kind=EVIL, label=EVIL, key=EVIL),)
    changed = History(
        source=EVIL,
        format=EVIL,
        time_unit="ns",
        operations=operations,
        annotations=annotations,
        model=EVIL,
    )
    certificate = Certificate(operations=(0, 5), kind=EVIL, sentence=EVIL, key=EVIL)
    found = judged(
        changed,
        verdict=VIOLATED,
        level=EVIL,
        promised=EVIL,
        because=EVIL,
        reason=EVIL,
        certificate=certificate,
        file=EVIL,
        command=EVIL,
        configuration={EVIL: EVIL},
        objects=(
            Object(key=EVIL, verdict=HOLDS, level=EVIL, reason=EVIL),
            Object(key="", verdict=HOLDS),
        ),
        anomalies=(
            Anomaly(name=EVIL, count=1, allowed=False, reason=EVIL, certificates=(certificate,)),
        ),
        staleness=(Staleness(key=EVIL, reads=1, delays=(1,), missed=(1,)),),
    )
    for model in ("partition-log", EVIL):
        found = msgspec.structs.replace(found, model=model)
    return changed, msgspec.structs.replace(found, model="partition-log")


def test_nothing_of_a_history_becomes_markup() -> None:
    history, found = poisoned()
    text = render(history, found)
    made = Page(text)
    assert len(made.all("script")) == 1 and not made.all("img")
    assert not [a for _, attributes in made.elements for a in attributes if a.startswith("on")]
    assert "<script>alert" in html.unescape(text) and "<script>alert" not in text
    assert "\x1b" not in text and "\u202e" not in text and "{{7*7}}" in text
    assert text.count("</style>") == 1 and text.count("</script>") == 1


def test_the_policy_admits_our_script_alone() -> None:
    text = render(*register_history())
    (policy,) = [a["content"] for a in Page(text).all("meta") if a.get("http-equiv")]
    script = re.findall(r"<script>(.*?)</script>", text, re.S)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None and f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy


def test_nothing_is_fetched() -> None:
    made = page(log_history(30, 300))
    for _, attributes in made.elements:
        assert not {"src", "srcset", "data", "action", "xlink:href"} & set(attributes)
        assert str(attributes.get("href", "#")).startswith("#")
    assert "@import" not in render(*register_history()) and "url(" not in render(
        *register_history()
    )


def test_the_same_history_gives_the_same_bytes() -> None:
    history = log_history(5, 60)
    assert render(history, stale(history)) == render(history, stale(history))


# -- Words


@pytest.mark.parametrize(
    ("length", "unit", "said"),
    [
        (0, "ns", "0 ns"),
        (999, "ns", "999 ns"),
        (1_500_000, "ns", "1.5 ms"),
        (2_000_000, "us", "2 s"),
        (7, "event", "7 events"),
    ],
)
def test_durations(length: int, unit: str, said: str) -> None:
    assert words.duration(length, unit) == said


def test_values_are_bounded_and_printable() -> None:
    huge = tuple(range(10**6))
    begin = time.process_time()
    assert len(words.text(huge)) == words.VALUE_MAX
    assert time.process_time() - begin < 0.1
    assert (
        words.text("a\nb\x00\u202e")
        == "a\N{REPLACEMENT CHARACTER}b" + "\N{REPLACEMENT CHARACTER}" * 2
    )
    assert words.text((None, True, frozenset({1}), "")) == '[nil true #{1} ""]'
    assert [words.text(each) for each in (1, "1", "a")] == ["1", '"1"', "a"]


def test_keys_that_begin_alike_are_told_apart() -> None:
    one, other = ("k" * 300 + end for end in "xy")
    assert words.ends(one) != words.ends(other)
    assert len(words.ends(one)) == words.VALUE_MAX and words.ends("a") == "a"
