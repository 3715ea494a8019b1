"""Verdicts of TLC on classes: each class gets its own, whatever blocks they were judged in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.protocols import KINDS, kind_named
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.steps import judge as judging
from kraftcheck.traces.steps.classes import CLASSES, Classes, PartFiles, examine, merge
from kraftcheck.traces.steps.judge import (
    JUDGED,
    REJECTED,
    UNKNOWN,
    Bench,
    encoded_steps,
    groups_of,
    judge,
    planted,
    report_of,
    step_table,
)
from kraftcheck.traces.steps.record import (
    Part,
    constants_text,
    decode_step_constants,
    decoder_of,
    decoder_of_inputs,
)
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import Abstraction, as_columns
from tests.conformance.recording import RecordedRun, part_of, steps_of_walk
from tests.tla_utils.same_values import differing
from tla_utils import CheckOptions, EncodedSteps, StepReport, StepVerdict
from tla_utils.errors import ToolError

THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
OTHER = Constants(voters=(1, 2, 3, 4, 5), fetch_max_records=2)


def parts() -> list[PartTables]:
    """Voters under two sets of constants, and brokers with their controller."""
    options = {"replicas": 3, "min_insync_replicas": 2, "elr": True, "unclean": False}
    return [
        part_of([RecordedRun(THREE, steps_of_walk(THREE, seed, 60)) for seed in (1, 2)]),
        part_of([RecordedRun(OTHER, steps_of_walk(OTHER, 3, 60))], 2),
        simulate_part("partition", 1, 3, 1, options=options),
        part_of([RecordedRun(THREE, steps_of_walk(THREE, seed, 60)) for seed in (2, 4)], 4),
    ]


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[PartFiles], pa.Table]:
    out = tmp_path_factory.mktemp("judge")
    files, slim = [], []
    for tables in parts():
        files.append(PartFiles(out, f"part-{tables.first_run}", tables.first_run, tables.runs))
        slim.append(examine(tables, files[-1]))
    return files, merge(pa.concat_tables(slim))


def verdict_of(step: dict[str, Any]) -> StepVerdict:
    """What the stand-in for TLC says: a function of the step, never "accepted" of a canary."""
    if step["ignored"] == "Canary" or "-77" in str(step["after"]):
        return StepVerdict("rejected", "a canary")
    if step["input"] in step["sent"]:
        return StepVerdict("rejected", "a canary")
    sum_ = sum(map(ord, repr((step["action"], step["node"], step["before"], step["after"]))))
    if sum_ % 7 == 0:
        return StepVerdict("rejected", f"reason {sum_}")
    return StepVerdict("unknown", "no time") if sum_ % 11 == 0 else StepVerdict("accepted")


def test_so_many_jvms_run_side_by_side_as_was_asked() -> None:
    others = (os.cpu_count() or 1) + 1
    assert judging._parallel(CheckOptions(parallel=others)) == others
    assert judging._parallel(CheckOptions()) == others - 1


@pytest.mark.parametrize(("chunk", "parallel"), [(10_000, 1), (64, 3), (1, 2)])
def test_every_class_has_its_own_verdict(
    examined: tuple[list[PartFiles], pa.Table],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
    parallel: int,
) -> None:
    files, merged = examined
    sizes: list[int] = []

    def check(frame: Any, steps: EncodedSteps, options: CheckOptions, *_: object) -> StepReport:
        assert len(steps) <= options.chunk, "a group is for one JVM"
        sizes.append(len(steps))
        table = steps.table()
        return StepReport(
            [verdict_of(table[n]) for n in range(len(table))], len(table), 1, 0.0, 0.5, 9.0, []
        )

    monkeypatch.setattr(judging, "check_steps", check)
    if chunk == 1:
        merged = merged.slice(0, 40)
    kept: list[pa.Table] = []
    told: list[int] = []
    found = judge(
        files,
        merged,
        tmp_path / "steps.parquet",
        CheckOptions(chunk=chunk, parallel=parallel),
        progress=told.append,
        keep=lambda kind, table: kept.append(table),
    )
    expected = {key: expected_of(row) for key, row in contents(files).items()}
    for number, key in enumerate(merged["key"].to_pylist()):
        bench, action, verdict = expected[key]
        codes = {"accepted": 0, "rejected": REJECTED, "unknown": UNKNOWN}
        assert found.verdicts[number] == codes[verdict.verdict]
        assert found.reasons.get(number, "") == verdict.reason
        told_kind = (bench, action) if verdict.verdict != "accepted" else None
        assert found.kinds.get(number) == told_kind
    table = pq.read_table(tmp_path / "steps.parquet")
    assert table.schema.equals(JUDGED) and table.equals(pa.concat_tables(kept))
    assert sorted(table["key"].to_pylist()) == merged["key"].to_pylist()
    for row in table.to_pylist():
        assert expected[row["key"]][2] == StepVerdict(row["verdict"], row["reason"])
    by_key = {row["key"]: row for row in merged.to_pylist()}
    for row in table.to_pylist():
        assert {name: row[name] for name in ("key", "count", "run", "step")} == by_key[row["key"]]
    assert told[-1] == len(merged) and told == sorted(told)
    assert (found.jvms, found.cpu_seconds, found.peak_rss_mb) == (len(sizes), len(sizes) / 2, 9.0)
    assert found.numbers(REJECTED) and found.numbers(UNKNOWN)


def contents(files: list[PartFiles]) -> dict[bytes, dict[str, Any]]:
    rows = [row for part in files for row in pq.read_table(part.classes).to_pylist()]
    return {row["key"]: row for row in rows}


def step_of(row: dict[str, Any]) -> tuple[Bench, Step]:
    """A class as values, decoded without step_table."""
    constants = decode_step_constants(row["constants"])
    if isinstance(constants, Constants):
        kind = KINDS[0]
    else:
        kind = KINDS[2] if row["node"] == CONTROLLER else KINDS[1]
    decode = decoder_of_inputs(constants)
    step = Step(
        row["action"],
        row["node"],
        decoder_of(kind.row)(row["before"]),
        decode(row["input"]) if row["input"] else None,
        decoder_of(kind.row)(row["after"]),
        tuple(decode(body) for body in row["sent"]),
        row["ignored"],
    )
    return Bench(kind.name, row["constants"]), step


def expected_of(row: dict[str, Any]) -> tuple[Bench, str, StepVerdict]:
    bench, step = step_of(row)
    form = Abstraction(decode_step_constants(row["constants"]))
    verdict = verdict_of(as_columns(form, step))
    return bench, row["action"].partition("_")[0], verdict


def test_a_table_of_steps_holds_each_step(examined: tuple[list[PartFiles], pa.Table]) -> None:
    for part in examined[0]:
        rows = pq.read_table(part.classes)
        benches = {step_of(row)[0] for row in rows.to_pylist()}
        for bench in benches:
            own = [row for row in rows.to_pylist() if step_of(row)[0] == bench]
            constants = decode_step_constants(bench.text)
            block = pa.Table.from_pylist(own, schema=rows.schema)
            table = step_table(block, [bench.text], kind_named(bench.kind))
            form = Abstraction(constants)
            for number, row in enumerate(own):
                assert table[number] == {**as_columns(form, step_of(row)[1]), "given": 1}


@pytest.mark.slow
@pytest.mark.tlc
def test_encoded_steps_are_those_of_the_table(
    examined: tuple[list[PartFiles], pa.Table],
) -> None:
    """To TLC; with canaries among them."""
    benches: dict[Bench, list[dict[str, Any]]] = {}
    for part in examined[0]:
        for row in pq.read_table(part.classes).to_pylist():
            benches.setdefault(step_of(row)[0], []).append(row)
    kinds = {bench.kind: (bench, rows) for bench, rows in benches.items()}
    assert len(kinds) == 3
    for bench, rows in kinds.values():
        kind = kind_named(bench.kind)
        block = planted(pa.Table.from_pylist(rows, schema=CLASSES), kind).steps
        asked = (block, [bench.text], kind)
        assert differing(step_table(*asked), encoded_steps(*asked)) == 0


def test_the_file_of_judged_steps_does_not_depend_on_processors(
    examined: tuple[list[PartFiles], pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, merged = examined

    def check(frame: Any, steps: EncodedSteps, options: CheckOptions, *_: object) -> StepReport:
        refused = [StepVerdict("rejected", "no")] * len(steps)
        return StepReport(refused, len(steps), 1, 0.0, 0.0, 0.0, [])

    monkeypatch.setattr(judging, "check_steps", check)
    monkeypatch.setattr(judging, "ROW_GROUP", 50)
    paths = [tmp_path / f"{chunk}.parquet" for chunk in (10, 64, 10_000)]
    for path in paths:
        judge(files, merged, path, CheckOptions(chunk=int(path.stem), parallel=2))
    assert len({path.read_bytes() for path in paths}) == 1
    assert pq.ParquetFile(paths[0]).num_row_groups == -(-len(merged) // 50)


def test_a_class_without_a_part_is_an_error(
    examined: tuple[list[PartFiles], pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, merged = examined

    def check(frame: Any, steps: EncodedSteps, options: CheckOptions, *_: object) -> StepReport:
        refused = [StepVerdict("rejected")] * len(steps)
        return StepReport(refused, len(steps), 1, 0.0, 0.0, 0.0, [])

    monkeypatch.setattr(judging, "check_steps", check)
    with pytest.raises(ToolError, match="have their witness in a run of no part"):
        judge(files[1:], merged, tmp_path / "steps.parquet", CheckOptions())
    witness = merged.schema.get_field_index("run")
    moved = merged.set_column(witness, "run", pa.array([2] * len(merged), pa.int64()))
    with pytest.raises(ToolError, match=r"does not hold .* classes of its part"):
        judge(files, moved, tmp_path / "steps.parquet", CheckOptions())


@pytest.mark.parametrize("most", [1, 40, 10_000])
def test_few_classes_wait_for_others_of_their_kind(
    examined: tuple[list[PartFiles], pa.Table], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Each class comes once, however few may wait, and with those of its kind and constants."""
    files, merged = examined
    monkeypatch.setattr(judging, "WAITING", most)
    found = list(groups_of(files, merged, 64))
    numbers = [number for _, classes in found for number in classes["number"].to_pylist()]
    assert sorted(numbers) == list(range(len(merged)))
    kinds = [group.kind for group in found]
    assert set(kinds) == {"voter", "broker", "controller"}
    assert (kinds != sorted(kinds)) == (most < 10_000)
    for kind, classes in found:
        rows = classes.to_pylist()
        assert 0 < len(rows) <= 64 and {step_of(row)[0].kind for row in rows} == {kind}
        texts = [row["constants"] for row in rows]
        assert texts == sorted(texts)


def test_what_tlc_warns_of_is_an_error(
    examined: tuple[list[PartFiles], pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(frame: Any, steps: EncodedSteps, options: CheckOptions, *_: object) -> StepReport:
        return StepReport([StepVerdict("rejected")] * len(steps), 1, 1, 0, 0, 0, ["odd cfg"])

    monkeypatch.setattr(judging, "check_steps", check)
    classes = Classes(Part(parts()[0])).table()
    with pytest.raises(ToolError, match="TLC may have ignored what it was told: odd cfg"):
        report_of("voter", classes, CheckOptions())


@pytest.mark.tlc
def test_one_jvm_judges_steps_under_several_constants() -> None:
    """Each under its own: steps of five voters are none of three."""
    three, five = (Classes(Part(tables)).table() for tables in parts()[:2])
    both = pa.concat_tables([three, five])
    report = report_of("voter", both, CheckOptions())
    assert report.runs == 1
    assert {each.verdict for each in report.verdicts} == {"accepted"}
    as_four = constants_text(replace(OTHER, voters=(1, 2, 3, 4)))
    column = five.schema.get_field_index("constants")
    wrong = five.set_column(column, "constants", pa.array([as_four] * len(five)))
    with pytest.raises(ToolError, match="was recorded with 5 entries"):
        report_of("voter", pa.concat_tables([three, wrong]), CheckOptions())
