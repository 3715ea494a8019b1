"""The page about a campaign and its figures: self-contained, escaped, the same bytes each time."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.traces.report.campaign import render_campaign
from kraftcheck.traces.report.comparison import compare
from kraftcheck.traces.report.evidence import ReportError
from kraftcheck.traces.report.figures import curves, histogram, quantity
from kraftcheck.traces.report.graphs import GRAPHS, document, read_graphs
from kraftcheck.traces.sealed import sealed

EVIL = '<script>alert("x")</script>'


def estimate() -> dict[str, Any]:
    return {"distinct": 9, "draws": 90, "seen_once": 3, "next_is_new": 0.0333, "hidden": None}


def history() -> dict[str, Any]:
    """An append, and a fetch that missed it."""
    both = {"key": "t-0", "outcome": "ok", "invoked": 10, "completed": 20}
    append = {**both, "index": 0, "group": 0, "process": 0, "f": "append", "argument": 7}
    fetch = {**both, "index": 1, "group": 1, "process": 1, "f": "fetch", "argument": 0}
    fetch |= {"invoked": 30, "completed": 44, "result": [[0, EVIL]], "end": 1}
    operations = [{**append, "result": 0}, fetch]
    own = {"source": "c/a#4", "format": "trace", "time_unit": "us", "model": "partition-log"}
    return {**own, "operations": operations}


def witness(**changes: Any) -> dict[str, Any]:
    told = {"run": 4, "partition": 0, "operations": 12, "kind": "lost-write", "named": [0, 1]}
    told |= {"key": "t-0", "history": history()}
    said = {"sentence": f"7 is lost {EVIL}", "replay": "kraftcheck replay c/a --run 4"}
    said["why"] = "nothing allows it here"
    return {**told, **said, "check": "kraftcheck check c/a --run 4", **changes}


DISTRIBUTION: dict[str, Any] = {
    "name": "append_stall",
    "words": "longest wait of an append",
    "unit": "us",
    "bins": [[1000, 2000, 3], [2000, 5000, 40]],
    "zero": 7,
    "count": 50,
    "sum": 99,
    "p50": 2100,
    "p90": 3000,
    "p99": 1_500_000,
    "most": 2_000_000,
    "worst": {"run": 9, "replay": "kraftcheck replay c/a --run 9"},
}
LEVEL: dict[str, Any] = {"exact": True, "promised": "linearizable", "held": "divergent"}
LEVELS = [
    {**LEVEL, "verdict": "violated", "logs": 1},
    {**LEVEL, "promised": "nothing", "held": "linearizable", "verdict": "holds", "logs": 49},
]
KINDS = ("action", "ignored", "error", "effect", "role")


def conformance(**changes: Any) -> dict[str, Any]:
    rejection = {"action": "HandleAppend", "run": 3, "step": 8, "count": 2, "reason": "no"}
    own: dict[str, Any] = {
        "verdict": "violated",
        "distinct": {"canonical": 1234, "deduplication": 7.3, "curve": [[1, 90], [50, 1234]]},
        "unseen": estimate(),
        "rejected": 1,
        "unknown": 0,
        "runs_with_rejected": 1,
        "rejections": [{**rejection, "differences": [EVIL], "replay": "kraftcheck replay r"}],
        "checks": {"Chained": 0},
        "invariants": {"VoteOnce": 1},
        "batches": [{"kind": "broker", "constants": 4, "steps": 9, "accepted": 8}],
    }
    return {**own, **changes}


def anomaly() -> dict[str, Any]:
    own = {"name": "lost-write", "meaning": "a record was lost", "jepsen": True}
    return {**own, "logs": 1, "forbidden": 1, "count": 2, "smallest": witness()}


def coverage() -> dict[str, Any]:
    feature = {"name": "HandleFlush", "count": 5, "first_run": 0}
    return {
        "met": {kind: [feature] for kind in KINDS},
        "never": ["HandleResign"],
        "growth": [{"runs": runs, **dict.fromkeys(KINDS, runs)} for runs in (1, 7, 50)],
        "unseen": {kind: estimate() for kind in KINDS},
        "rules": {
            "runs": 50,
            "known": 9,
            "met": [{**feature, "kind": "rule", "name": "quorum.log_ok: yes"}],
            "never": ["quorum.is_stale"],
            "one_way": ["quorum.log_ok: yes"],
        },
    }


CONDITION = {"name": "Happens", "sentence": "It happens."}


def configuration(name: str = "a", **changes: Any) -> dict[str, Any]:
    """What a campaign finds of a configuration with one broken promise and one rejected step."""
    violation = {"run": 4, "kind": "history", "what": EVIL, "replay": "kraftcheck replay r"}
    own: dict[str, Any] = {
        "name": name,
        "scenario": "partition",
        "sentence": "a partition is replicated",
        "bug": None,
        "options": {"acks": EVIL},
        "folder": "c/a",
        "verdict": "violated",
        "reasons": ["1 logs broke what was promised to their clients"],
        "runs": 50,
        "bad_runs": 2,
        "violations": [violation],
        "steps": 9000,
        "logs": 50,
        "operations": 700,
        "unknown_logs": 0,
        "unpromised_logs": 3,
        "histories": {
            "counts": {"holds": 49, "violated": 1, "unknown": 0},
            "smallest": [witness()],
        },
        "levels": LEVELS,
        "anomalies": [anomaly()],
        "distributions": [DISTRIBUTION],
        "conformance": conformance(),
        "coverage": coverage(),
        "sometimes": {
            "reached": [{**CONDITION, "runs": 3, "first_run": 2, "replay": "kraftcheck replay r"}],
            "never": [{"name": "Unseen", "sentence": "It was never seen."}],
            "raised": [{"name": "Fails: KeyError", "runs": 4, "first_run": 0}],
        },
        "generations": {"runs": 8, "ways": {"fresh": 30, "cut": 20}},
        "progress": {"unprogressed": 0},
        "faults": {"leader_changes": {"total": 5, "runs": 2}},
    }
    return {**own, **changes}


def findings(*configurations: dict[str, Any]) -> dict[str, Any]:
    return {
        "findings_version": 2,
        "verdict": "violated",
        "reasons": [EVIL],
        "seed": 7,
        "runs": 50,
        "steps": 9000,
        "logs": 50,
        "operations": 700,
        "unknown_logs": 0,
        "unpromised_logs": 3,
        "configurations": list(configurations) or [configuration()],
        "versions": {"kraftcheck": "0.1.0"},
        "reproduce": ["kraftcheck campaign run --scenario partition --runs 50 --seed 7 --out DIR"],
    }


class Balanced(HTMLParser):
    """Complains of elements that are not closed, and collects addresses and scripts."""

    VOID = ("meta", "br", "rect", "line", "polyline", "polygon", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [v or "" for n, v in attrs if n in ("src", "href") and v and v[0] != "#"]
        if tag == "script":
            self.outside.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag, self.getpos()


def test_the_page_is_whole_and_stands_alone() -> None:
    page = render_campaign(findings(configuration(), configuration("b", bug="Z46")))
    assert page == render_campaign(findings(configuration(), configuration("b", bug="Z46")))
    parser = Balanced()
    parser.feed(page)
    assert parser.open == [] and parser.outside == []
    assert EVIL not in page and page.count("&lt;script&gt;") > 5
    assert "Side by side" in page and 'href="#c2"' in page
    # TLC judges first rows as well: else its figure would be another one for the same thing.
    assert "distinct steps and first rows" in page


def test_the_evidence_is_drawn_once() -> None:
    page = render_campaign(findings())
    assert page.count("Timelines of the evidence") == 1
    assert page.count('<g class="bar ok accused"') == 2 and "process 1" in page
    hidden = [{**anomaly(), "smallest": witness(history=None)}]
    histories = {"counts": {"holds": 50, "violated": 0, "unknown": 0}, "smallest": []}
    page = render_campaign(findings(configuration(anomalies=hidden, histories=histories)))
    assert "Timelines of the evidence" not in page


def test_nothing_that_counts_against_a_campaign_is_left_out() -> None:
    page = render_campaign(findings())
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "Side by side" not in page
    for said in (
        "VIOLATED",
        "1 logs broke what was promised",
        "7 is lost",
        "HandleAppend in run 3, step 8; taken 2 times",
        "invariant VoteOnce 1",
        "Never taken: HandleResign",
        "8 of 9 were taken. Never: quorum.is_stale.",
        "Of 2 conditions that runs should come to now and then, 1 were reached.",
        "Could not be asked: Fails: KeyError , in 4 runs.",
        "Never reached, so nothing was tried of them: Unseen (It was never seen).",
        "in generations of 8 runs. How they came about: fresh 30, cut 20.",
        "kraftcheck check c/a --run 4",
        "99 % up to 1.5 s, at most 2 s (run 9)",
        "linearizable 1 1 0 1 ·",
        "The next step is a new one with a chance of 3.33 %",
    ):
        assert said in text, said


@pytest.mark.parametrize("missing", ["levels", "coverage", "conformance", "histories"])
def test_findings_in_which_something_is_missing_are_refused(missing: str) -> None:
    own = configuration()
    del own[missing]
    with pytest.raises(ReportError, match="not what a campaign leaves"):
        render_campaign(findings(own))


@pytest.mark.parametrize(
    ("number", "unit", "said"),
    [
        (999, "us", "999 us"),
        (1500, "us", "1.5 ms"),
        (12_345_678, "us", "12.3 s"),
        (1234, "records", "1,234"),
    ],
)
def test_quantities_are_said_as_people_do(number: int, unit: str, said: str) -> None:
    assert quantity(number, unit) == said


def test_figures_of_little() -> None:
    nothing = {"bins": [], "zero": 3}
    assert histogram(nothing, "us").count("<rect") == 1
    assert curves({}) == "" and curves({"one": [(1, 0)]}).count("<polyline") == 1


def test_a_change_for_the_worse_is_marked() -> None:
    histories = {"counts": {"holds": 50, "violated": 0, "unknown": 0}, "smallest": []}
    good = configuration(
        verdict="holds",
        conformance=conformance(rejected=0, invariants={}),
        histories=histories,
        anomalies=[],
    )
    (pair,) = compare(findings(good), findings(configuration("other")))
    assert (pair.name, pair.before, pair.after) == ("a / other", "holds", "violated")
    assert {change.what for change in pair.changes if change.worse} == {
        "rejected steps",
        "logs broken",
        "invariant VoteOnce",
        "anomaly lost-write, not allowed",
    }
    (back,) = compare(findings(configuration()), findings(good))
    assert back.changes and not any(change.worse for change in back.changes)


def test_configurations_of_one_campaign_only_are_named() -> None:
    both = findings(configuration("a"), configuration("b"))
    pairs = compare(both, findings(configuration("b"), configuration("c")))
    assert [(pair.name, pair.before == "violated", pair.after == "violated") for pair in pairs] == [
        ("a", True, False),
        ("b", True, True),
        ("c", False, True),
    ]


def graph(name: str = "two-voters", **changes: Any) -> dict[str, Any]:
    own = {"edges": 40, "edges_seen": 10, "local_steps": 7, "seen": 3}
    action = {"of": 7, "seen": 3, "edges": 40, "edges_seen": 10}
    growth = [{"runs": runs, "seen": 3, "edges_seen": 10} for runs in (1, 50)]
    told = {"graph": name, "claim": f"Two vote {EVIL}", **own, "growth": growth}
    return {**told, "by_action": {"HandleFlush": action}, **changes}


def test_what_was_seen_of_graphs_is_on_the_page() -> None:
    several = [graph(f"g{number}") for number in range(6)]
    page = render_campaign(findings(), {"a": several})
    parser = Balanced()
    parser.feed(page)
    assert parser.open == [] and parser.outside == [] and EVIL not in page
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "g5 Two vote" in text and "40 10 25 % 7 3" in text
    assert page.count("Edges seen in %, by runs") == 2 and "g0 HandleFlush 40 10 7 3" in text
    assert "Of bounded state graphs" not in render_campaign(findings(), {"b": several})
    with pytest.raises(ReportError, match="not what a campaign leaves"):
        render_campaign(findings(), {"a": [{"graph": "g"}]})


def test_graphs_of_other_findings_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / GRAPHS
    assert read_graphs(path, b"{}") == {}
    path.write_bytes(sealed(msgspec.json.encode(document(b"{}", {"a": [graph()]}))))
    assert read_graphs(path, b"{}") == {"a": [graph()]} and read_graphs(path, b"{ }") == {}
    for damage, said in ((b"", "damaged"), (b"[]", "damaged"), (b"{}", "graphs version None")):
        path.write_bytes(damage)
        with pytest.raises(ReportError, match=said):
            read_graphs(path, b"{}")
    path.write_bytes(b'{"graphs_version": 1}')
    with pytest.raises(ReportError, match="damaged"):
        read_graphs(path, b"{}")
