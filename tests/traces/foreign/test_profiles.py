"""Profiles, on what Kafka 4.3.1 has done: no Kafka is needed here (tests/live/witness_samples.py).

An entry that no recorded step needs fails; what no entry allows is refused under the profile, too.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.driving import judged
from kraftcheck.kafka.witness.groups import GROUP_COORDINATORS
from kraftcheck.kafka.witness.partition import BROKERS
from kraftcheck.kafka.witness.quorum import VOTERS, VOTERS_BEFORE_41
from kraftcheck.kafka.witness.transactions import TRANSACTION_COORDINATORS
from kraftcheck.specs import SPECS
from kraftcheck.traces.foreign.batch import judge_batch, judge_steps
from kraftcheck.traces.foreign.profiles import Profile, names, profile_of, read_profile
from kraftcheck.traces.foreign.reading import read_foreign
from tla_utils import ToolError, read_manifest

DATA = Path(__file__).with_name("data")
RUN, DEPARTURES = DATA / "kafka-run.jsonl", DATA / "kafka-departures.jsonl"
OF_BROKERS = DATA / "kafka-partition-run.jsonl", DATA / "kafka-partition-departures.jsonl"
OF_COORDINATORS = (
    DATA / "kafka-transactions-run.jsonl",
    DATA / "kafka-transactions-departures.jsonl",
)
OF_VERSION_1 = (
    DATA / "kafka-transactions-1-run.jsonl",
    DATA / "kafka-transactions-1-departures.jsonl",
)
OF_GROUPS = DATA / "kafka-groups-run.jsonl", DATA / "kafka-groups-departures.jsonl"
OF_4_4 = OF_GROUPS[0], DATA / "kafka-4.4-groups-departures.jsonl"
ELSEWHERE = {
    OF_COORDINATORS[1]: {"fenced-once"},
    OF_VERSION_1[1]: {"abort-is-not-told", "leaderless-is-deleted"},
    OF_GROUPS[1]: {"empty-has-target"},
    OF_4_4[1]: {"own-instance-refused"},
}
"""What is met in the recording of another version, of the protocol or of Kafka."""
OF_4_0 = DATA / "kafka-4.0.2-quorum.jsonl", DATA / "kafka-4.0-departures.jsonl"
PROFILE = read_profile("kafka-4.3")
BEFORE_41 = read_profile("kafka-4.0")
SAMPLES = [
    pytest.param(PROFILE, VOTERS, RUN, DEPARTURES, id="quorum"),
    pytest.param(PROFILE, BROKERS, *OF_BROKERS, id="partition"),
    pytest.param(PROFILE, TRANSACTION_COORDINATORS, *OF_COORDINATORS, id="transactions"),
    pytest.param(PROFILE, TRANSACTION_COORDINATORS, *OF_VERSION_1, id="transactions-1"),
    pytest.param(PROFILE, GROUP_COORDINATORS, *OF_GROUPS, id="groups"),
    pytest.param(PROFILE, GROUP_COORDINATORS, *OF_4_4, id="groups-4.4"),
    pytest.param(BEFORE_41, VOTERS_BEFORE_41, *OF_4_0, id="quorum-4.0"),
]


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(("profile", "component", "run", "departures"), SAMPLES)
def test_every_entry_is_needed_and_together_they_are_enough(
    profile: Profile, component: Component, run: Path, departures: Path
) -> None:
    found = judged(component, departures, profile)
    assert found.found.rejections == []
    needed = {entry.name for entry in profile.for_protocol(component.protocol.name).entries}
    assert {met.name for met in found.met} == needed - ELSEWHERE.get(departures, set())
    assert found.forbidden == len(departures.read_text("utf-8").splitlines()) - 1


@pytest.mark.slow
@pytest.mark.tlc
def test_an_entry_that_nothing_needs_is_not_among_those_that_are_met() -> None:
    """So that it fails the test above."""
    replace = msgspec.structs.replace
    needless = replace(PROFILE.entries[-1], name="needless")
    parts = tuple(replace(part, entries=(*part.entries, needless)) for part in PROFILE.parts)
    found = judged(VOTERS, DEPARTURES, replace(PROFILE, parts=parts))
    entries = PROFILE.for_protocol(VOTERS.protocol.name).entries
    assert {met.name for met in found.met} == {entry.name for entry in entries}


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(("profile", "component", "run", "departures"), SAMPLES)
def test_a_run_of_kafka_is_one_of_the_specs_with_the_profile(
    profile: Profile, component: Component, run: Path, departures: Path
) -> None:
    trace = read_foreign(run)
    found = judge_batch(trace, profile=profile)
    assert (found.verdict, found.profile) == ("holds", profile.name)
    assert component.left_open(trace) == []


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(("profile", "component", "run", "departures"), SAMPLES)
def test_without_entries_the_profile_says_what_the_specs_say(
    profile: Profile, component: Component, run: Path, departures: Path, tmp_path: Path
) -> None:
    """On steps that they accept, and on steps that they refuse."""
    replace = msgspec.structs.replace
    bare = replace(profile, parts=tuple(replace(part, entries=()) for part in profile.parts))
    (head, *refused), (_, *accepted) = lines_of(departures), lines_of(run)
    # The steps of the run are one more run.
    accepted = [step | {"run": len(refused)} for step in accepted]
    trace = read_foreign(written(tmp_path, [head, *refused, *accepted]))
    by_specs = judge_steps(trace, trace.steps).lines()
    assert len(refused) <= len(by_specs) < len(refused) + len(accepted)
    assert judge_steps(trace, trace.steps, profile=bare).lines() == by_specs


SHOWN_WITH_OTHERS = {
    "caught-up-before": "kafka-4.3-isr",
    "session-with-heartbeat": "kafka-4.3-life",
}
"""Of models with several entries: those that add states there."""


@pytest.mark.parametrize("protocol", ["partition", "groups"])
def test_each_entry_that_is_no_bug_has_a_model(protocol: str) -> None:
    """That holds, and of which TLC counts something else without the entry."""
    manifest = read_manifest(SPECS / "models.toml")
    for entry in PROFILE.for_protocol(protocol).entries:
        model = manifest.models.get(SHOWN_WITH_OTHERS.get(entry.name, f"kafka-4.3-{entry.name}"))
        assert (model is None) == (entry.of == "bug"), entry.name
        if model is not None:
            assert model.expect == "holds" and model.baseline
            assert f'"{entry.name}"' in model.config.assigned["Entries"]


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def written(folder: Path, lines: list[Any]) -> Path:
    path = folder / "changed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def fault(line: Any, name: str) -> None:
    """What no entry may allow, put into a step."""
    after = line["after"]
    if "coordinators" in after:
        of_coordinator(after, name)
        return
    if "isr" in after:
        of_broker(after, name)
        return
    if "contacts" in after:
        of_controller(after, name)
        return
    if "waiting" in after:
        of_coordinator(after, name)
        return
    if name == "vote":
        after["voted"] = after["quorumState"]["voted"] = 2 if after["voted"] == 1 else 1
    elif name == "epoch":
        after["epoch"] += 1
    elif name == "high watermark":
        after["highWatermark"] += 1
    elif name == "log":
        after["log"] = [*after["log"], {"epoch": after["epoch"], "value": 9}]
    else:
        after["flushed"] += 1


def of_broker(after: Any, name: str) -> None:
    if name == "isr":
        after["isr"] = after["isr"][:-1] if after["isr"] else [1]
    elif name == "pending":
        after["pending"] = after["pending"] | {"refused": not after["pending"]["refused"]}
    elif name == "end offset":
        other = next(each for each in after["remotes"] if each != str(after["leader"]))
        after["remotes"][other]["endOffset"] += 1
    elif name == "high watermark":
        after["highWatermark"] += 1
    else:
        after["partitionEpoch"] += 1


def of_controller(after: Any, name: str) -> None:
    if name == "isr":
        after["partition"]["isr"] = [1] if after["partition"]["isr"] == [2] else [2]
    elif name == "pending":
        after["contacts"]["1"]["shutdownOffset"] += 7
    elif name == "end offset":
        after["offset"] += 1
    elif name == "high watermark":
        after["registrations"]["1"]["recordOffset"] += 1
    else:
        after["partition"]["leaderEpoch"] += 1


def of_coordinator(after: Any, name: str) -> None:
    """Of transactions, or of a group."""
    if "coordinators" not in after:
        of_group(after, name)
        return
    now = after["coordinators"][after["leaderEpoch"] - 1]
    if name == "state":
        now["txn"]["state"] = "Ongoing" if now["txn"]["state"] != "Ongoing" else "Empty"
    elif name == "epoch":
        now["txn"]["epoch"] += 1
    elif name == "partitions":
        now["txn"]["partitions"] = [] if now["txn"]["partitions"] else [11]
    elif name == "pending":
        now["pending"]["logged"] = not now["pending"]["logged"]
    else:
        after["log"]["committed"]["epoch"] += 1


def of_group(after: Any, name: str) -> None:
    log = after["log"]
    group = log["leader"][-1] if log["leader"] else log["committed"]
    if name == "leader epoch":
        after["leaderEpoch"] += 1
    elif name == "held":
        group["held"] = group["held"][:-1] if group["held"] else [1]
    elif name == "target epoch":
        group["targetEpoch"] += 1
    elif name == "pending":
        group["members"]["3"]["pending"] = [] if group["members"]["3"]["pending"] else [1]
    else:
        group["members"]["1"]["epoch"] += 1


OF_VOTERS = ("vote", "epoch", "high watermark", "log", "flushed")


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(
    ("profile", "departures", "faults"),
    [
        (PROFILE, DEPARTURES, OF_VOTERS),
        (BEFORE_41, OF_4_0[1], OF_VOTERS),
        (PROFILE, OF_COORDINATORS[1], ("state", "epoch", "partitions", "pending", "log")),
        (PROFILE, OF_VERSION_1[1], ("state", "epoch", "partitions", "pending", "log")),
        (PROFILE, OF_BROKERS[1], ("isr", "pending", "end offset", "high watermark", "epoch")),
        (PROFILE, OF_GROUPS[1], ("leader epoch", "held", "target epoch", "pending", "epoch")),
    ],
)
def test_faults_are_refused_under_each_entry(
    profile: Profile, departures: Path, faults: tuple[str, ...], tmp_path: Path
) -> None:
    """Every departure with a fault besides, all faults in turn."""
    head, *steps = lines_of(departures)
    damaged: list[Any] = []
    for name in faults:
        for line in steps:
            copy = json.loads(json.dumps(line))
            fault(copy, name)
            damaged.append(copy | {"run": len(damaged)})
    trace = read_foreign(written(tmp_path, [head, *damaged]))
    refused = judge_steps(trace, trace.steps, profile=profile).lines()
    missed = {step.line for step in trace.steps} - refused
    assert missed == set(), [faults[(line - 2) // len(steps)] for line in missed]


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda steps, at: steps.pop(at), "Chained"),
        (lambda steps, at: steps.insert(at, steps[at]), "Chained"),
    ],
)
def test_a_fault_of_the_host_is_told_from_one_of_kafka(
    change: Any, check: str, tmp_path: Path
) -> None:
    """A line that is forgotten, or told twice: each step is right, the run is none."""
    head, *steps = lines_of(RUN)
    change(steps, next(n for n in range(20, 50) if steps[n]["before"] != steps[n]["after"]))
    found = judge_batch(read_foreign(written(tmp_path, [head, *steps])), profile=PROFILE)
    assert found.rejections == []
    assert check in {each.check for each in found.findings}


@pytest.mark.tlc
@pytest.mark.parametrize(("start", "refused"), [("initial", {2}), ("any", set())])
def test_a_run_whose_beginning_is_missing_is_refused_where_it_begins(
    start: str, refused: set[int], tmp_path: Path
) -> None:
    """Its first step is right, from a row in which no node starts."""
    head, *steps = lines_of(RUN)
    later = next(each for each in steps if each["before"]["log"])
    trace = read_foreign(written(tmp_path, [head | {"start": start, "order": "by node"}, later]))
    assert judge_steps(trace, trace.steps, profile=PROFILE).lines() == refused


@pytest.mark.tlc
def test_a_fetch_is_answered_for_news_only(tmp_path: Path) -> None:
    """Q23: without records, if and only if its sender knows less; also under the profile."""
    head, *steps = lines_of(RUN)
    news = next(
        step
        for step in steps
        if step["input"]["type"] == "FetchRequest"
        and any(_tells(m, step["input"]) for m in step["sent"])
    )
    request = news["input"]
    knows = dict(request, highWatermark=news["after"]["highWatermark"])
    again = json.loads(json.dumps(news).replace(json.dumps(request), json.dumps(knows)))
    answers = [m for m in news["sent"] if not _tells(m, request)]
    parked = dict(news, sent=answers, after=dict(news["after"], parked=[request]))
    trials = [step | {"run": run} for run, step in enumerate((news, again, parked))]
    head |= {"start": "any", "order": "by node"}
    trace = read_foreign(written(tmp_path, [head, *trials]))
    refused = judge_steps(trace, trace.steps, profile=PROFILE).lines()
    assert [step.run for step in trace.steps if step.line in refused] == [1, 2]


def _tells(m: Any, request: Any) -> bool:
    plain = m["type"] == "FetchResponse" and (m["error"], m["records"]) == ("NONE", [])
    return plain and m["request"] == request and m["diverging"]["epoch"] == -1


def test_who_counts_as_caught_up_in_vain_is_found(tmp_path: Path) -> None:
    """What the entry caught-up-before leaves open."""
    head, *steps = lines_of(OF_BROKERS[1])
    raised = next(step for step in steps if step["input"]["type"] == "ReplicaFetchRequest")
    source = str(raised["input"]["source"])
    assert raised["after"]["remotes"][source]["caughtUp"]
    assert raised["input"]["fetchOffset"] < len(raised["before"]["log"])
    trace = read_foreign(written(tmp_path, [head, raised]))
    assert BROKERS.left_open(trace) == []
    asked = json.loads(json.dumps(raised))
    asked["after"]["remotes"][source]["caughtUp"] = False
    trace = read_foreign(written(tmp_path, [head, asked, raised]))
    assert [each.check for each in BROKERS.left_open(trace)] == ["CaughtUpInVain"]


def test_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolError, match=r"no profile 'kafka-9'; there are kafka-4\.0, kafka-4\.3"):
        read_profile("kafka-9")


def test_what_a_profile_drops_of_another_must_be_there(tmp_path: Path) -> None:
    shutil.copytree(SPECS / "quorum" / "profiles", tmp_path / "quorum" / "profiles")
    path = tmp_path / "quorum" / "profiles" / "kafka-4.3.toml"
    path.write_text(path.read_text().replace("forgets-high", "forgot-high"))
    with pytest.raises(ToolError, match=r"4\.3\.toml: kafka-4\.0 has no entry forgot-high"):
        read_profile("kafka-4.3", tmp_path)


def test_a_profile_is_found_by_version() -> None:
    assert names() == ["kafka-4.0", "kafka-4.3"]
    of_44 = profile_of("4.4.0", "quorum41")
    assert of_44 is not None
    mended = {entry.name for entry in PROFILE.entries} - {entry.name for entry in of_44.entries}
    assert mended == {"late-start"} == {entry.name for entry in PROFILE.entries if entry.until}
    protocols = ["groups", "partition", "quorum41", "shares", "transactions"]
    assert [part.protocol for part in PROFILE.parts] == protocols
    of_40 = profile_of("4.0.2", "partition")
    assert of_40 is not None and of_40.name == PROFILE.name
    later = {entry.name for entry in PROFILE.entries} - {entry.name for entry in of_40.entries}
    assert later == {"session-of-unfenced", "empty-has-target", "leaderless-is-deleted"}
    assert later == {entry.name for entry in PROFILE.entries if entry.since}
    assert profile_of("4.0.2", "quorum41") is None
    assert profile_of("3.9.2", "partition") is None
