"""The report: one page, the same bytes each time, everything escaped, nothing held back."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.traces.report.evidence import (
    ReportError,
    patterns_of,
    places_of,
    read_evidence,
)
from kraftcheck.traces.report.figures import Bar, steps_curve
from kraftcheck.traces.report.page import FAULTS, _coverage, write_report
from kraftcheck.traces.schema import STATISTICS
from kraftcheck.traces.sealed import sealed


def summary(**changes: Any) -> dict[str, Any]:
    """What `conform` leaves of a good campaign."""
    return {
        "summary_version": 1,
        "verdict": "holds",
        "reasons": [],
        "trace": {
            "scenario": "quorum",
            "seed": 7,
            "bug": None,
            "options": {},
            "runs_asked": 300,
            "parts": 16,
        },
        "runs": 300,
        "steps": 42241,
        "first_rows": 900,
        "distinct_steps": {
            "recorded": 22573,
            "canonical": 16483,
            "first_rows": 3,
            "deduplication": 2.563,
            "by_renaming": 1.369,
            "curve": [[1, 90], [17, 1400], [300, 16483]],
        },
        "rejected_steps": 0,
        "unknown_steps": 0,
        "runs_with_rejected_steps": 0,
        "runs_with_unknown_steps": 0,
        "rejections": [],
        "unknowns": [],
        "findings": {"by_check": {"Chained": 0}, "meaning": {"Chained": "rows meet"}, "listed": []},
        "invariant_violations": {"runs": 0, "by_name": {}, "listed": []},
        "progress": {"progressed": 300, "stopped": 0, "unprogressed": 0, "listed": []},
        "actions": {action: 10 * place for place, action in enumerate(VOTER.actions, 1)},
        "ignored": {"NotAwaited": 2533},
        "constants": ['{"fetch_max_records":2,"voters":[0,1,2]}'],
        "faults": {field.name: {"total": 12, "runs": 6} for field in STATISTICS},
        "longest": [{"run": 24, "number": 315, "replay": "kraftcheck replay d --run 24"}],
        "slowest": [{"run": 34, "number": 12000000, "replay": "kraftcheck replay d --run 34"}],
        "tlc": {
            "judged": 16486,
            "jvms": 3,
            "cpu_seconds": 6.5,
            "steps_per_cpu_second": 2536,
            "peak_rss_mb": 390,
        },
        "seconds": {"read": 6.7, "judge": 14.0},
        "versions": {"kraftcheck": "0.1.0", "TLC": "2.15"},
        **changes,
    }


def rejection(**changes: Any) -> dict[str, Any]:
    return {
        "action": "HandleFetchResponse",
        "run": 3,
        "step": 16,
        "key": "ab",
        "constants": "{}",
        "count": 5,
        "runs": 4,
        "reason": "the specification does not allow this step",
        "replay": "kraftcheck replay d --run 3",
        "node": 2,
        "outcomes": 1,
        "differences": ["after.flushed: recorded 0, spec allows {1}"],
        **changes,
    }


MODEL = {
    "name": "quorum-votes",
    "module": "MCQuorum",
    "tier": "small",
    "expect": "holds",
    "verdict": "holds",
    "property": None,
    "distinct": 129384,
    "depth": 31,
    "seconds": 41.2,
}


def page(folder: Path, what: dict[str, Any], models: list[Any] | None = None) -> str:
    (folder / "summary.json").write_bytes(sealed(msgspec.json.encode(what)))
    if models is not None:
        (folder / "specs.json").write_bytes(
            sealed(msgspec.json.encode({"specs_version": 1, "models": models}))
        )
    return write_report(folder).read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Every element is closed, in order; and what the page would fetch."""

    VOID = frozenset({"meta", "br", "path", "use", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self._note(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.fetched.append(f"{tag} {value}")
            if name == "id":
                self.ids.append(value or "")
        if tag in ("script", "link", "iframe", "img"):
            self.fetched.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def words(text: str) -> str:
    return " ".join(" ".join(read(text).words).split())


def test_the_page_stands_alone_and_is_well_formed(tmp_path: Path) -> None:
    text = page(tmp_path, summary(), [MODEL])
    assert read(text).fetched == []
    assert "url(http" not in text
    assert len(text) < 200_000


def test_the_same_artifacts_give_the_same_bytes(tmp_path: Path) -> None:
    first = page(tmp_path, summary(), [MODEL])
    assert page(tmp_path, summary(), [MODEL]) == first
    assert not re.search(r"20\d\d-\d\d-\d\d", first)


def test_the_page_says_what_was_done(tmp_path: Path) -> None:
    said = words(page(tmp_path, summary(), [MODEL]))
    for expected in (
        "HOLDS every recorded step is allowed",
        "campaign seed 7",
        "42,241",
        "16,483",
        "quorum-votes small holds holds 129,384 31 41.2 s",
        "Chained rows meet 0",
        "Every action of the specification was taken. Inputs ignored, by reason: NotAwaited 2,533.",
        "kraftcheck replay d --run 24",
        '{"fetch_max_records":2,"voters":[0,1,2]}',
        "TLC 2.15",
        "It does not say that the invariants hold in general.",
    ):
        assert expected in said


def test_every_figure_is_there_and_its_text_is_text(tmp_path: Path) -> None:
    text = page(tmp_path, summary())
    assert text.count("<svg") == 1 + len(VOTER.actions) + len(FAULTS)
    for label in (*VOTER.actions, *FAULTS.values(), "distinct steps"):
        assert label in text


def test_an_action_that_was_never_taken_is_named(tmp_path: Path) -> None:
    actions = {**summary()["actions"], "HandleResign": 0}
    said = words(page(tmp_path, summary(actions=actions)))
    assert "Never taken: HandleResign. Nothing is known of them" in said


def test_a_violation_comes_with_its_reason_and_its_command(tmp_path: Path) -> None:
    text = page(
        tmp_path,
        summary(
            verdict="violated",
            reasons=["1 distinct steps are not allowed"],
            rejected_steps=1,
            rejections=[rejection()],
            findings={
                "by_check": {"Chained": 1},
                "meaning": {"Chained": "rows meet"},
                "listed": [
                    {
                        "check": "Chained",
                        "run": 8,
                        "step": 2,
                        "explanation": "another row",
                        "replay": "kraftcheck replay d --run 8",
                    }
                ],
            },
            invariant_violations={
                "runs": 40,
                "by_name": {"ElectionSafety": 40},
                "listed": [
                    {
                        "invariant": "ElectionSafety",
                        "run": run,
                        "step": 1,
                        "explanation": "two leaders",
                        "replay": f"kraftcheck replay d --run {run}",
                    }
                    for run in range(40)
                ],
            },
            progress={
                "progressed": 0,
                "stopped": 0,
                "unprogressed": 1,
                "listed": [
                    {"run": 9, "missing": "no leader", "replay": "kraftcheck replay d --run 9"}
                ],
            },
        ),
    )
    said = words(text)
    for expected in (
        "VIOLATED something is not as",
        "1 distinct steps are not allowed",
        "differs at after.flushed",
        "HandleFetchResponse in run 3, step",
        "after.flushed: recorded 0, spec allows {1}",
        "kraftcheck replay d --run 3",
        "Chained 8 2 another row kraftcheck replay d --run 8",
        "ElectionSafety 0 1 two leaders",
        "and 28 more violations",
        "9 no leader kraftcheck replay d --run 9",
    ):
        assert expected in said


def test_what_other_commands_have_found_is_shown(tmp_path: Path) -> None:
    parts = {
        "spec": {"verdict": "holds", "seconds": 61.0},
        "canary": {
            "verdict": "holds",
            "seconds": 9.0,
            "bug": "Z01",
            "rejected_steps": 90,
            "runs": 300,
        },
    }
    said = words(page(tmp_path, summary(parts=parts)))
    assert "spec holds 61.0 s" in said
    assert "the planted bug Z01 was found: 90 distinct steps rejected in 300 runs" in said


def test_unknown_is_loud(tmp_path: Path) -> None:
    unknown = {"action": "HandleFlush", "run": 4, "step": 5, "reason": "timeout after 0.1 s"}
    said = words(
        page(
            tmp_path,
            summary(
                verdict="unknown", reasons=["1 not judged"], unknowns=[unknown], unknown_steps=1
            ),
        )
    )
    assert said.count("UNKNOWN") == 1
    assert "HandleFlush 4 5 timeout after 0.1 s" in said


@pytest.mark.parametrize("place", ["reason", "difference", "explanation", "scenario"])
def test_what_artifacts_say_is_escaped(tmp_path: Path, place: str) -> None:
    evil = "<script>alert('x')</script>"
    places: dict[str, dict[str, Any]] = {
        "reason": {"reasons": [evil]},
        "difference": {
            "rejections": [rejection(differences=[f"after.role: recorded {evil}"])],
            "rejected_steps": 1,
        },
        "explanation": {"unknowns": [{"action": evil, "run": 1, "step": 1, "reason": evil}]},
        "scenario": {"trace": {**summary()["trace"], "scenario": evil}},
    }
    text = page(tmp_path, summary(**places[place]))
    assert evil not in text
    assert "&lt;script&gt;" in text
    assert read(text).fetched == []


# --- The verdict on the whole


@pytest.mark.parametrize(
    ("trace", "model", "expected"),
    [
        ("holds", {}, "holds"),
        ("unknown", {}, "unknown"),
        ("violated", {}, "violated"),
        ("holds", {"verdict": "unknown"}, "unknown"),
        ("holds", {"verdict": "violated", "property": "ElectionSafety"}, "violated"),
        ("holds", {"expect": "violated"}, "violated"),
        ("unknown", {"verdict": "violated"}, "violated"),
        ("violated", {"verdict": "unknown"}, "violated"),
        ("holds", {"expect": "violated", "verdict": "violated"}, "holds"),
        ("holds", {"matches": False}, "violated"),
    ],
)
def test_the_verdict_is_the_worst(
    tmp_path: Path, trace: str, model: dict[str, Any], expected: str
) -> None:
    text = page(tmp_path, summary(verdict=trace), [{**MODEL, **model}])
    assert read_evidence(tmp_path).verdict == expected
    assert f'<section class="verdict {expected}">' in text


# --- Grouping


def test_rejected_steps_are_grouped_by_where_they_differ() -> None:
    patterns = patterns_of(
        [
            rejection(run=4, differences=["after.log[9].epoch: recorded 1, spec allows {2}"]),
            rejection(run=2, count=3, differences=["after.flushed: recorded 7, spec allows {9}"]),
            rejection(run=3, differences=["after.log[2].epoch: recorded 1, spec allows {2}"]),
            rejection(run=5, action="HandleFlush", count=100),
            rejection(run=1, count=2),
        ]
    )
    assert [(p.places, p.actions, p.distinct, p.taken) for p in patterns] == [
        (("after.flushed",), {"HandleFetchResponse": 2, "HandleFlush": 1}, 3, 105),
        (("after.log[].epoch",), {"HandleFetchResponse": 2}, 2, 10),
    ]
    assert [witness["run"] for witness in patterns[0].witnesses] == [1, 2, 5]


@pytest.mark.parametrize(
    ("differences", "places"),
    [
        (["sent element [a |-> 1]: recorded <present>, spec allows {<absent>}"], ("sent",)),
        (["no outcome allowed: the action is disabled here"], None),
        (["after.a: recorded 1, spec allows {2}"] * 2, ("after.a",)),
    ],
)
def test_a_place_is_named_without_what_stands_there(
    differences: list[str], places: tuple[str, ...] | None
) -> None:
    assert places_of(differences) == (places or tuple(differences))


def test_a_rejected_step_that_was_not_explained_is_shown_with_its_reason(tmp_path: Path) -> None:
    bare = {k: v for k, v in rejection().items() if k not in ("differences", "node", "outcomes")}
    said = words(page(tmp_path, summary(rejections=[rejection(), bare], rejected_steps=7)))
    assert "6 distinct steps were rejected and not explained." in said
    assert "HandleFetchResponse 3 16 the specification does not allow this step" in said


# --- Bad input


def test_a_folder_without_a_summary_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"summary.json: no such file: judge the trace first"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("summary.json", b"{", "damaged"),
        ("summary.json", b"[]", "damaged"),
        ("summary.json", b'{"summary_version": 9}', "summary version 9"),
        ("summary.json", b'{"summary_version": 1}', "damaged, or of an older version"),
        ("summary.json", sealed(b'{"summary_version": 1}'), "not what a judged trace leaves"),
        ("specs.json", b"[]", "damaged"),
        ("specs.json", sealed(b'{"specs_version": 1}'), "it has no list of models"),
        (
            "specs.json",
            sealed(b'{"specs_version": 1, "models": [{"name": "x"}]}'),
            "without name, expect and verdict",
        ),
    ],
)
def test_a_damaged_artifact_is_one_line(
    tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    (tmp_path / "summary.json").write_bytes(sealed(msgspec.json.encode(summary())))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReportError, match=complaint) as caught:
        write_report(tmp_path)
    assert "\n" not in str(caught.value)


# What the page does not show, or shows as part of the reasons alone.
NOT_NEEDED = {"first_rows", "runs_with_unknown_steps"}


@pytest.mark.parametrize("missing", sorted(set(summary()) - NOT_NEEDED))
def test_a_summary_without_one_of_its_parts_is_one_line(tmp_path: Path, missing: str) -> None:
    rest = {name: value for name, value in summary().items() if name != missing}
    (tmp_path / "summary.json").write_bytes(sealed(msgspec.json.encode(rest)))
    with pytest.raises(ReportError) as caught:
        write_report(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_bytes(sealed(msgspec.json.encode(summary())))
    with pytest.raises(ReportError, match="No such file"):
        write_report(tmp_path, tmp_path / "nowhere" / "report.html")


# --- Figures


def test_what_never_happened_is_red(tmp_path: Path) -> None:
    actions = {**summary()["actions"], "HandleResign": 0}
    text = page(tmp_path, summary(actions=actions))
    assert '<span class="never">HandleResign</span>' in text
    assert 'class="never"' not in page(tmp_path, summary())


def test_bars_are_as_long_as_what_they_say() -> None:
    found = _coverage({"HandleVoteRequest": 30, "HandleResign": 10, "HandleFlush": 0})
    assert found == [
        Bar("HandleVoteRequest", 1.0, "30 (75.0%)"),
        Bar("HandleResign", 1 / 3, "10 (25.0%)"),
        Bar("HandleFlush", 0.0, "never"),
    ]


def test_a_curve_of_one_point_is_drawn() -> None:
    assert steps_curve([(1, 90)]).startswith("<svg")


def test_the_page_speaks_of_every_scenario_and_links_their_pages(tmp_path: Path) -> None:
    part = {"verdict": "holds", "seconds": 1.0, "runs": 60, "distinct_steps": 12, "folder": "f"}
    parts = {"partition": {**part, "rejected_steps": 3, "histories": "holds"}}
    text = page(tmp_path, summary(parts=parts))
    assert 'href="f/report.html"' in text
    assert "scenario partition: 60 runs, 12 distinct steps, 3 rejected" in words(text)
