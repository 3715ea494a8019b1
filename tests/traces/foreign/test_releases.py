"""What each release of Kafka has done, judged without it (tests/live/witness_releases.py).

A find is there in a release if its recorded steps are not those of the specs, at the step that the
find is about; and every step that no find is about is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.live.witness.jars import versions
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.traces.foreign.batch import judge_batch, judge_steps
from kraftcheck.traces.foreign.profiles import profile_of, read_profile
from kraftcheck.traces.foreign.reading import read_foreign
from tests.traces.foreign.test_profiles import DATA, fault, lines_of, written

INDEX: dict[str, dict[str, str]] = json.loads((DATA / "kafka-releases.json").read_text("utf-8"))
PROFILE = read_profile("kafka-4.3")
CLUSTER = ("cluster-quorum", "cluster-partition")
FINDS = {
    "kafka-Z67": ("keeps-end-offsets", {"HandleMetadataUpdate"}),
    "kafka-Z68": ("candidate-again", {"HandleRestart"}),
    "kafka-Z69": ("clears-proposal", {"HandleMetadataUpdate"}),
}
"""The entry that steps of the schedule need, and the actions of those steps."""
OF_ONE = ("groups", "transactions", "transactions-1")
"""What is recorded of one release only."""
OF_4_0 = {"kafka-4.0.2-quorum": set(), "kafka-4.0.2-Z68": {"HandleRestart"}}
"""Of which actions there are steps of its quorum that are a find."""


def actions(path: Path, profile: Any = None) -> dict[str, int]:
    """Of the refused steps, how many of each action."""
    trace = read_foreign(path)
    lines = judge_steps(trace, trace.steps, profile=profile).lines()
    refused = [step.action for step in trace.steps if step.line in lines]
    return {action: refused.count(action) for action in sorted({*refused})}


def test_there_is_a_recording_of_each_release() -> None:
    assert [*INDEX] == versions()
    files = {name for each in INDEX.values() for name in each.values()}
    assert {"kafka-run", "kafka-partition-run"} < files
    assert {path.stem for path in DATA.glob("kafka-*.jsonl")} - files == {
        *("kafka-departures", "kafka-partition-departures", "kafka-4.0-departures"),
        "kafka-4.4-groups-departures",
        *(f"kafka-{of}-{which}" for of in OF_ONE for which in ("run", "departures")),
    }
    for version, names in INDEX.items():
        assert {"quorum", "partition", "Z67", "Z68", "Z69", *CLUSTER} <= names.keys(), version
        assert all((DATA / f"{name}.jsonl").is_file() for name in names.values())


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("name", FINDS)
def test_a_find_is_a_step_that_the_specs_refuse(name: str) -> None:
    """And that its entry, among bugs, is needed for."""
    entry, of = FINDS[name]
    path = DATA / f"{name}.jsonl"
    assert of <= actions(path).keys()
    assert actions(path, PROFILE) == {}
    assert actions(path, PROFILE.less(entry)).keys() == of


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("name", OF_4_0)
def test_what_4_0_does_is_allowed_by_its_own_profile(name: str) -> None:
    path, profile = DATA / f"{name}.jsonl", profile_of("4.0.2", "quorum")
    assert profile is not None and profile.name == "kafka-4.0"
    assert actions(path, profile) == {}
    bugs = [entry.name for entry in profile.entries if entry.of == "bug"]
    assert actions(path, profile.less(*bugs)).keys() == OF_4_0[name]


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("part", CLUSTER)
@pytest.mark.parametrize("version", INDEX)
def test_a_cluster_of_each_release_is_one_of_the_specs(version: str, part: str) -> None:
    """With what is known of the release; the specs alone refuse something."""
    trace = read_foreign(DATA / f"{INDEX[version][part]}.jsonl")
    profile = profile_of(version, protocol_of(trace.constants).name)
    assert profile is not None
    found = judge_batch(trace, profile=profile)
    assert (found.verdict, found.rejections, found.findings) == ("holds", [], [])
    assert judge_steps(trace, trace.steps).lines()


@pytest.mark.tlc
def test_where_4_1_parts_from_later_ones_the_specs_allow_both() -> None:
    """KAFKA-16926: it announces itself to who has fetched lately, too."""
    path = DATA / "kafka-4.1.2-parts.jsonl"
    _, older, newer = lines_of(path)
    assert (older["before"], older["input"]) == (newer["before"], newer["input"])
    assert {m["type"] for m in older["sent"]} == {"BeginQuorumEpochRequest"}
    assert [m for m in newer["sent"] if m not in older["sent"]] == []
    assert len(older["sent"]) > len(newer["sent"])
    assert judge_batch(read_foreign(path), profile=PROFILE).verdict == "holds"


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("name", [*FINDS, "kafka-4.0.2-quorum", "kafka-cluster-partition"])
def test_a_recording_with_a_fault_is_refused_at_it(name: str, tmp_path: Path) -> None:
    head, *steps = lines_of(DATA / f"{name}.jsonl")
    at = next(n for n in range(10, len(steps)) if steps[n]["before"] != steps[n]["after"])
    if "registrations" in steps[at]["after"] or "isr" in steps[at]["after"]:
        fault(steps[at], "high watermark")
    else:
        fault(steps[at], "epoch")
    profile = None if "4.0.2" in name else PROFILE
    trace = read_foreign(written(tmp_path, [head, *steps]))
    assert trace.steps[at].line in judge_steps(trace, trace.steps, profile=profile).lines()
