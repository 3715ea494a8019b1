"""Each thing that makes judging steps a judgement of runs (L1 to L10), broken once.

A campaign made by hand has one part for each fault, whose last run has it; there may be good runs
before it. It is judged once; each test then looks at its own runs. A fault must be reported by the
check it was made for, and by no other, and in its run alone: otherwise one could be taken out
unnoticed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handler_name
from kraftcheck.reference.quorum.handlers import QuorumHandlers, action_of
from kraftcheck.reference.quorum.messages import (
    CheckQuorumTimeout,
    Crash,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    VoteRequest,
)
from kraftcheck.reference.quorum.types import Constants, Row, initial_row, is_running
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import JOINED_RUNS, Conformance, ConformOptions, conform
from kraftcheck.traces.schema import PartTables, TraceError
from kraftcheck.traces.steps.check import CHECKS, check_runs
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.store import read_manifest, read_part
from tests.conformance.recording import RecordedRun, part_of, steps_of_walk, write_trace

# One judgement serves all tests of this file: under xdist they stay in one process.
pytestmark = pytest.mark.xdist_group("planted")

THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
OTHER_RUN = 7
OTHER = Constants(voters=(1, 2, 3), fetch_max_records=9)
HANDLERS = QuorumHandlers(THREE)
LENGTH = 90
BESIDE = steps_of_walk(THREE, OTHER_RUN, LENGTH)

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Fault:
    """A fault: what it does to a good run, or to the tables of the part that holds it.

    found: the checks on runs that must report it. rejected: whether TLC must reject a step of it.
    beside: the seeds of good runs in the same part, before it.
    """

    name: str
    found: tuple[str, ...] = ()
    rejected: bool = False
    run: Callable[[list[Step]], RecordedRun] = field(default=lambda steps: good(steps))
    tables: Callable[[Tables], Tables] = field(default=lambda tables: tables)
    beside: tuple[int, ...] = ()


def good(steps: Sequence[Step]) -> RecordedRun:
    return RecordedRun(THREE, steps)


# --- Finding a place for a fault


def last_step_of_each_node(steps: Sequence[Step]) -> list[int]:
    """Where a row after can be changed without another step noticing."""
    last = {step.node: number for number, step in enumerate(steps)}
    return sorted(last.values())


def with_step(steps: Sequence[Step], number: int, **changes: Any) -> list[Step]:
    return [*steps[:number], steps[number]._replace(**changes), *steps[number + 1 :]]


def rows_after(steps: Sequence[Step]) -> dict[int, Row]:
    rows = dict.fromkeys(THREE.voters, initial_row(THREE))
    return rows | {step.node: step.after for step in steps}


def taken(node: int, row: Row, input: Input) -> Step:
    """The step that the handler makes of an input, whether or not it should have got it."""
    action = action_of(input)
    outcome = getattr(HANDLERS, handler_name(action))(node, row, input)
    assert outcome is not None
    return Step(action, node, row, input, outcome.row, outcome.sent, outcome.ignored)


def delivered_later(steps: Sequence[Step]) -> set[Any]:
    return {step.input for step in steps}


# --- The faults


def corrupted_row(steps: list[Step]) -> RecordedRun:
    number = last_step_of_each_node(steps)[0]
    row = steps[number].after
    return good(with_step(steps, number, after=replace(row, flushed=row.flushed + 1)))


def corrupted_first_step(steps: list[Step]) -> RecordedRun:
    """The step with the id 0 of its part: the run ends with it."""
    row = steps[0].after
    return good([steps[0]._replace(after=replace(row, flushed=row.flushed + 1))])


def corrupted_sent(steps: list[Step]) -> RecordedRun:
    """A message nobody receives, with another epoch in it."""
    received = delivered_later(steps)
    number, at = next(
        (number, at)
        for number, step in enumerate(steps)
        for at, message in enumerate(step.sent)
        if message not in received
    )
    sent = list(steps[number].sent)
    sent[at] = replace(sent[at], epoch=sent[at].epoch + 7)
    return good(with_step(steps, number, sent=tuple(sent)))


def omitted_sent(steps: list[Step]) -> RecordedRun:
    received = delivered_later(steps)
    number = next(
        number
        for number, step in enumerate(steps)
        if step.sent and not any(message in received for message in step.sent)
    )
    return good(with_step(steps, number, sent=()))


def first_ignored(steps: Sequence[Step]) -> int:
    return next(number for number, step in enumerate(steps) if step.ignored == "NotAwaited")


def dropped_reason(steps: list[Step]) -> RecordedRun:
    return good(with_step(steps, first_ignored(steps), ignored=""))


def other_reason(steps: list[Step]) -> RecordedRun:
    return good(with_step(steps, first_ignored(steps), ignored="NotLeader"))


def wrong_first_row(steps: list[Step]) -> RecordedRun:
    """A run that goes on where another one stopped: every step is allowed and chained."""
    rows = rows_after(steps)
    return good(steps_of_walk(THREE, 99, 20, rows))


def broken_chain(steps: list[Step]) -> RecordedRun:
    """One step taken out, and the scheduler's count with it. Nobody misses what it sent."""
    received = delivered_later(steps)
    last = last_step_of_each_node(steps)
    number = next(
        number
        for number, step in enumerate(steps)
        if step.after != step.before
        and not any(message in received for message in step.sent)
        and step.before != initial_row(THREE)
        and number not in last
    )
    return good([*steps[:number], *steps[number + 1 :]])


def broken_chain_at_a_restart(steps: list[Step]) -> RecordedRun:
    """A node crashes and loses records, but what is started again still has them."""
    node, row = next((n, row) for n, row in rows_after(steps).items() if len(row.log) > 1)
    assert is_running(row)
    crashes = [taken(node, row, Crash(keep=keep)) for keep in (row.flushed, row.flushed + 1)]
    assert crashes[0].after != crashes[1].after
    return good([*steps, crashes[0], taken(node, crashes[1].after, Restart())])


def dropped_step(steps: list[Step]) -> RecordedRun:
    """A step that changed nothing and sent nothing: only the count can tell."""
    number = first_ignored(steps)
    rest = [*steps[:number], *steps[number + 1 :]]
    return RecordedRun(THREE, rest, handler_calls=len(steps))


def invented_message(steps: list[Step]) -> RecordedRun:
    node = next(n for n, row in rows_after(steps).items() if is_running(row))
    source = THREE.others(node)[0]
    asked = VoteRequest(source, node, epoch=40, last_epoch=1, last_offset=3, pre_vote=False)
    return good([*steps, taken(node, rows_after(steps)[node], asked)])


def some_request(steps: Sequence[Step]) -> VoteRequest:
    return next(m for step in steps for m in step.sent if isinstance(m, VoteRequest))


def altered_message(steps: list[Step]) -> RecordedRun:
    asked = replace(some_request(steps), epoch=41)
    node = asked.destination
    rows = rows_after(steps)
    assert is_running(rows[node])
    return good([*steps, taken(node, rows[node], asked)])


def misdelivered_message(steps: list[Step]) -> RecordedRun:
    asked = some_request(steps)
    rows = rows_after(steps)
    node = next(n for n, row in rows.items() if n != asked.destination and is_running(row))
    return good([*steps, taken(node, rows[node], asked)])


def message_of_another_run(steps: list[Step]) -> RecordedRun:
    """It was sent, and in time, but in the run before (that of the seed OTHER_RUN)."""
    sent = {message for step in steps for message in step.sent}
    asked = next(m for s in BESIDE for m in s.sent if isinstance(m, VoteRequest) and m not in sent)
    row = rows_after(steps)[asked.destination]
    assert is_running(row)
    return good([*steps, taken(asked.destination, row, asked)])


def early_message(steps: list[Step]) -> RecordedRun:
    """Delivered first, sent afterwards: a prefix of another run, in which nobody else moves."""
    row = initial_row(THREE)
    asked = some_request(steps)
    before = taken(asked.destination, row, asked)
    own = [step for step in steps if step.node == asked.source]
    until = next(number for number, step in enumerate(own) if asked in step.sent)
    assert all(action_of(step.input).endswith("Timeout") for step in own[: until + 1] if step.input)
    return good([before, *own[: until + 1]])


def delivered_when_down(steps: list[Step]) -> RecordedRun:
    rows = rows_after(steps)
    asked = some_request(steps)
    node = asked.destination
    row, crash = rows[node], []
    if is_running(row):
        crash = [taken(node, row, Crash(keep=row.flushed))]
        row = crash[0].after
    return good([*steps, *crash, taken(node, row, asked)])


def sent_twice(steps: list[Step]) -> RecordedRun:
    number = next(number for number, step in enumerate(steps) if step.sent)
    sent = steps[number].sent
    return good(with_step(steps, number, sent=(*sent, sent[-1])))


def other_constants(steps: list[Step]) -> RecordedRun:
    """A step that is allowed under either: a timer knows nothing of how much a fetch carries."""
    number = next(n for n, s in enumerate(steps) if s.action == "HandleElectionTimeout")
    return RecordedRun(THREE, steps, foreign={number: OTHER})


def no_form(steps: list[Step]) -> RecordedRun:
    number = last_step_of_each_node(steps)[0]
    row = steps[number].after
    return good(with_step(steps, number, after=replace(row, end_offsets=row.end_offsets[1:])))


def mislabelled(steps: list[Step]) -> RecordedRun:
    """`Resign` and a check-quorum timeout have the same outcomes: TLC cannot tell them apart."""
    return good([*steps, taken_by_leader(steps, Resign())])


def taken_by_leader(steps: Sequence[Step], input: Input) -> Step:
    leaders = [n for n, row in rows_after(steps).items() if row.role == "Leader"]
    return taken(leaders[0], rows_after(steps)[leaders[0]], input)


def relabel(tables: Tables) -> Tables:
    """The label and the type column say check-quorum timeout, the body says `Resign`."""
    to = CheckQuorumTimeout.__name__
    steps, inputs = tables["steps"], tables["inputs"]
    actions = [f"Handle{to}" if a == "HandleResign" else a for a in steps["action"].to_pylist()]
    types = [to if t == Resign.__name__ else t for t in inputs["type"].to_pylist()]
    return {
        **tables,
        "steps": set_column(steps, "action", actions),
        "inputs": set_column(inputs, "type", types),
    }


def forge_sent_digest(tables: Tables) -> Tables:
    """Of a message that is sent and never received."""
    inputs, steps = tables["inputs"], tables["steps"]
    received = set(steps["input"].to_pylist())
    lost = next(m for of in steps["sent"].to_pylist() for m in of if m not in received)
    digests = inputs["digest"].to_pylist()
    digests[lost] = b"0" * 16
    return {**tables, "inputs": set_column(inputs, "digest", digests)}


def count_a_step_that_no_run_took(tables: Tables) -> Tables:
    steps = tables["steps"]
    extra = {**steps.slice(0, 1).to_pylist()[0], "id": len(steps), "ignored": "NotLeader"}
    more = pa.Table.from_pylist([*steps.to_pylist(), extra], schema=steps.schema)
    return {**tables, "steps": more}


def forge_digest(tables: Tables) -> Tables:
    """Of the last row, which only the last run of a part has."""
    digests = tables["rows"]["digest"].to_pylist()
    return {**tables, "rows": set_column(tables["rows"], "digest", [*digests[:-1], b"0" * 16])}


def forge_count(tables: Tables) -> Tables:
    """Of the last step, which only the last run of a part took."""
    counts = tables["steps"]["count"].to_pylist()
    forged = [*counts[:-1], counts[-1] + 1]
    return {**tables, "steps": set_column(tables["steps"], "count", forged)}


def set_column(of: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = of.schema.get_field_index(name)
    return of.set_column(at, of.schema.field(at), pa.array(values, of.schema.field(at).type))


FAULTS = (
    Fault("nothing"),
    Fault("corrupted row", rejected=True, run=corrupted_row),
    Fault("corrupted first step", rejected=True, run=corrupted_first_step),
    Fault("corrupted sent", rejected=True, run=corrupted_sent),
    Fault("omitted sent", rejected=True, run=omitted_sent),
    Fault("dropped reason", rejected=True, run=dropped_reason),
    Fault("other reason", rejected=True, run=other_reason),
    Fault("wrong first row", ("FirstRowsInitial",), rejected=True, run=wrong_first_row),
    Fault("broken chain", ("Chained",), run=broken_chain),
    Fault("broken chain at a restart", ("Chained",), run=broken_chain_at_a_restart),
    Fault("dropped step", ("StepsCounted",), run=dropped_step),
    Fault("invented message", ("Provenanced",), run=invented_message),
    Fault("altered message", ("Provenanced",), run=altered_message),
    Fault("misdelivered message", ("Provenanced",), run=misdelivered_message),
    Fault(
        "message of another run",
        ("Provenanced",),
        run=message_of_another_run,
        beside=(OTHER_RUN,),
    ),
    Fault("early message", ("Provenanced",), run=early_message),
    Fault("delivered when down", ("NothingWhenDown",), run=delivered_when_down),
    Fault("sent twice", ("SentOnce",), run=sent_twice),
    Fault("other constants", ("ConstantsAgree",), run=other_constants),
    Fault("no form", ("WellFormed",), run=no_form),
    Fault("mislabelled", ("ContentAddressed", "Labelled"), run=mislabelled, tables=relabel),
    Fault("forged digest", ("ContentAddressed",), tables=forge_digest, beside=(3,)),
    Fault("forged digest of a sent message", ("ContentAddressed",), tables=forge_sent_digest),
    Fault("step that no run took", ("StepsCounted",), tables=count_a_step_that_no_run_took),
    Fault("forged count", ("StepsCounted",), tables=forge_count, beside=(3,)),
    Fault("nothing again"),
)
ENDS = list(accumulate(1 + len(fault.beside) for fault in FAULTS))
NUMBER = {fault.name: end - 1 for fault, end in zip(FAULTS, ENDS, strict=True)}
"""The number of the run that has the fault, the last one of its part."""


def fits(fault: Fault, steps: list[Step]) -> RecordedRun | None:
    """The run with the fault in it, or None where the walk has no place for it."""
    try:
        return fault.run(steps)
    except (StopIteration, IndexError, AssertionError):
        return None


def planted(fault: Fault, number: int) -> PartTables:
    """A part with the fault in its run `number`, its last: the first walk that has a place."""
    for seed in range(1000, 1200):
        run = fits(fault, steps_of_walk(THREE, seed, LENGTH))
        if run is not None:
            beside = [good(steps_of_walk(THREE, other, LENGTH)) for other in fault.beside]
            part = part_of([*beside, run], first_run=number - len(beside))
            return part._replace(tables=fault.tables(part.tables))
    raise AssertionError(f"no walk has a place for {fault.name}")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("planted") / "trace"
    write_trace(directory, [planted(fault, NUMBER[fault.name]) for fault in FAULTS])
    return directory


@pytest.fixture(scope="module")
def judged(trace: Path) -> Conformance:
    return conform(trace, ConformOptions(backend=Pool(1)))


@pytest.mark.tlc
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_reported_by_its_check_and_by_no_other(
    judged: Conformance, trace: Path, fault: Fault
) -> None:
    run = NUMBER[fault.name]
    part = range(run - len(fault.beside), run + 1)
    listed = [f for f in judged.summary["findings"]["listed"] if f["run"] in part]
    assert {(f["check"], f["run"]) for f in listed} == {(check, run) for check in fault.found}
    joined = pq.read_table(trace / "conform" / JOINED_RUNS).to_pylist()
    rejected = [row["run"] for row in joined if row["run"] in part]
    assert set(rejected) == ({run} if fault.rejected else set())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_seen_in_its_part_without_tlc(fault: Fault) -> None:
    found = check_runs(Part(planted(fault, NUMBER[fault.name])))
    assert {(f.check, f.run) for f in found} == {(of, NUMBER[fault.name]) for of in fault.found}


@pytest.mark.tlc
def test_every_check_has_a_fault_that_it_reported(judged: Conformance) -> None:
    by_check = judged.summary["findings"]["by_check"]
    assert set(by_check) == set(CHECKS)
    # Voters alone read no metadata: test_partition_faults.py; of clusters test_cluster_faults.py;
    # of compositions tests/protocols/test_composition.py; of a coordinator's log
    # tests/reference/cluster/sim/test_coordinated.py.
    elsewhere = {"MetadataRead", "Committed", "OneProcess", "Joined", "InOrder", "OneLog"}
    assert {check for check, found in by_check.items() if not found} == elsewhere
    assert judged.verdict == "violated"


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("name", "differences"),
    [
        ("corrupted row", "after.flushed: recorded"),
        ("corrupted sent", "sent{}.epoch: recorded"),
        ("omitted sent", "sent element"),
        ("dropped reason", 'ignored: recorded "", spec allows {"NotAwaited"}'),
        ("other reason", 'ignored: recorded "NotLeader", spec allows {"NotAwaited"}'),
    ],
)
def test_a_rejected_step_is_explained_in_the_words_of_its_run(
    judged: Conformance, trace: Path, name: str, differences: str
) -> None:
    rejections = [r for r in judged.summary["rejections"] if r["run"] == NUMBER[name]]
    (rejection,) = rejections
    assert rejection["outcomes"] == 1
    assert any(line.startswith(differences) for line in rejection["differences"])
    assert rejection["replay"] == f"kraftcheck replay {trace} --run {NUMBER[name]}"


@pytest.mark.slow
@pytest.mark.tlc
def test_rejected_steps_are_told_and_explained_from_the_first_run_on(
    judged: Conformance, trace: Path, tmp_path: Path
) -> None:
    rejections = judged.summary["rejections"]
    places = [(r["run"], r["step"]) for r in rejections]
    keys = [r["key"] for r in rejections]
    assert places == sorted(places) and keys not in (sorted(keys), sorted(keys, reverse=True))
    copied = shutil.copytree(trace, tmp_path / "few")
    few = conform(copied, ConformOptions(backend=Pool(1), explain=3)).summary["rejections"]
    assert [r["key"] for r in few] == keys
    explained = [r["differences"] for r in rejections[:3]]
    assert [r.get("differences") for r in few] == [*explained, *[None] * (len(keys) - 3)]


@pytest.mark.tlc
def test_a_first_row_that_is_not_initial_is_a_rejected_step(judged: Conformance) -> None:
    rejected = [r for r in judged.summary["rejections"] if r["run"] == NUMBER["wrong first row"]]
    assert {r["action"] for r in rejected} == {"Init"}
    assert len(rejected) >= 1


def test_the_page_on_conformance_names_every_check_and_every_fault(repo_root: Path) -> None:
    page = (repo_root / "docs" / "conformance.md").read_text(encoding="utf-8")
    assert [check for check in CHECKS if f"`{check}`" not in page] == []
    controls = ("nothing", "nothing again")
    faults = [fault.name for fault in FAULTS if fault.name not in controls]
    table = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    assert [name for name in faults if name.removesuffix(" message") not in table] == []


def test_a_label_that_contradicts_its_input_is_refused_when_read(tmp_path: Path) -> None:
    """Where the type column is honest, the trace contract itself does not hold."""
    part = planted(Fault("honest type", run=mislabelled), 0)
    steps = part.tables["steps"]
    actions = [
        "HandleCheckQuorumTimeout" if a == "HandleResign" else a
        for a in steps["action"].to_pylist()
    ]
    part = part._replace(tables={**part.tables, "steps": set_column(steps, "action", actions)})
    assert {finding.check for finding in check_runs(Part(part))} == {"Labelled"}
    write_trace(tmp_path / "trace", [part])
    entry = read_manifest(tmp_path / "trace").parts[0]
    with pytest.raises(TraceError, match="HandleCheckQuorumTimeout of an input of type Resign"):
        read_part(tmp_path / "trace", entry)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_quiet_on_good_runs(name: str) -> None:
    runs = [good(steps_of_walk(THREE, seed, LENGTH)) for seed in range(6)]
    assert list(CHECKS[name](Part(part_of(runs)))) == []


def test_a_check_goes_on_after_the_first_run() -> None:
    """Every bad run is found, with its own number and its own first bad step."""
    steps = [steps_of_walk(THREE, seed, LENGTH) for seed in range(3)]
    bad = [*steps[1], taken(*_ready(steps[1]))]
    request = VoteRequest(2, 1, epoch=50, last_epoch=1, last_offset=9, pre_vote=True)
    runs = [
        good([*steps[0], taken(1, rows_after(steps[0])[1], request)]),
        good(bad),
        good([*steps[2], taken(1, rows_after(steps[2])[1], request)]),
    ]
    found = check_runs(Part(part_of(runs, first_run=70)))
    assert [(f.check, f.run, f.step) for f in found if f.check == "Provenanced"] == [
        ("Provenanced", 70, LENGTH),
        ("Provenanced", 72, LENGTH),
    ]


def _ready(steps: Sequence[Step]) -> tuple[int, Row, Input]:
    """A timer that is armed: it needs no sender."""
    return next(
        (node, row, RequestTimeout(peer))
        for node, row in rows_after(steps).items()
        if is_running(row)
        for peer, state in zip(THREE.voters, row.connections, strict=True)
        if state != "Ready"
    )
