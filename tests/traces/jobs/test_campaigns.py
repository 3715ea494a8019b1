"""Campaigns: killed and taken up again, extended, damaged; what is kept, and what is said."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.osutil.files import replace_file
from kraftcheck.reference.runner import run as sim
from kraftcheck.reference.sim.choices import run_seed
from kraftcheck.traces.jobs import campaigns, ranges
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.campaigns import Announced, Listener, Options, run_campaign
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of, range_runs, read_plan
from kraftcheck.traces.jobs.simulate import Range, simulated
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.classes import SLIM, merge
from kraftcheck.traces.store import Campaign, read_manifest
from tests.quality.ladder import find_modules, imports_of
from tests.traces.jobs.small_campaigns import (
    RUNS,
    SEED,
    StandIn,
    campaign,
    contents,
    extended,
)
from tla_utils.errors import ToolError

HERE = Path("c")
"""Campaigns stand in folders of one name, since findings name their folder."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An undisturbed campaign, in a folder to copy from."""
    where = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        campaign(HERE)
    yield where


@pytest.fixture
def own(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the working directory."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return HERE


def receipts(directory: Path) -> list[Path]:
    return sorted(directory.glob("*/judged/*.range.json"))


def when_written(directory: Path) -> dict[Path, tuple[int, int]]:
    """Of every recorded and judged file, which inode it is and when it was written."""
    files = [*directory.glob("*/part-*"), *directory.glob("*/judged/part-*")]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


@pytest.mark.slow
def test_killed_and_taken_up_again_it_ends_in_the_same_bytes(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 in the middle; nothing that was finished is done again."""
    monkeypatch.chdir(tmp_path)
    root = Path(sim.__file__).parents[2]
    module = "tests.traces.jobs.small_campaigns"
    driver = subprocess.Popen(
        [sys.executable, "-m", module, str(HERE)],
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "7"},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(receipts(HERE)) < 3 and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    done = receipts(HERE)
    assert 3 <= len(done) < RUNS and not (HERE / "findings.json").exists()
    stems = {path.name.split(".")[0] for path in done}
    before = {
        path: when for path, when in when_written(HERE).items() if path.name.split(".")[0] in stems
    }
    campaign(HERE)
    after = when_written(HERE)
    assert {path: after[path] for path in before} == before
    assert contents(HERE) == contents(finished / HERE)


def test_asked_again_it_does_nothing_anew(own: Path, finished: Path) -> None:
    before = when_written(own)
    again = StandIn()
    campaign(own, stand_in=again)
    assert when_written(own) == before and not again.asked
    assert contents(own) == contents(finished / HERE)


@pytest.mark.parametrize("ending", ["range.json", "classes.parquet", "verdicts.parquet"])
def test_half_a_range_is_judged_again_and_not_simulated(
    own: Path, finished: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = next(own.glob(f"quorum/judged/*-000000003-*.{ending}"))
    victim.write_bytes(victim.read_bytes()[:-7])
    monkeypatch.setattr(ranges, "simulated", None)
    before = when_written(own)
    campaign(own)
    after = when_written(own)
    changed = {path.name.split(".")[0] for path in before if before[path] != after[path]}
    assert changed == {victim.name.split(".")[0]}
    assert contents(own) == contents(finished / HERE)


def test_a_missing_part_is_named_and_simulated_again_with_consent(
    own: Path, finished: Path
) -> None:
    victim = next(own.glob("quorum/part-000000002-*.rows.parquet"))
    victim.unlink()
    with pytest.raises(TraceError, match=rf"{victim.name}: no such file; --redo simulates"):
        campaign(own)
    assert not victim.exists()
    damaged = next(own.glob("quorum/part-000000005-*.steps.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    before = when_written(own)
    campaign(own, redo=True)
    after = when_written(own)
    again = {path.name.split(".")[0] for path in after if before.get(path) != after[path]}
    assert again == {victim.name.split(".")[0], damaged.name.split(".")[0]}
    assert contents(own) == contents(finished / HERE)


def test_a_generation_has_the_ranges_among_its_runs() -> None:
    several = tuple(map(Range, (0, 8, 16), (8, 8, 4)))
    here, of = Path(), Campaign(scenario="quorum", seed=1, runs=20)
    work = ranges.Work(here, of, several, (None,) * 3, here, "", here, False)
    assert [work.between(*runs).ranges for runs in ((0, 8), (8, 20))] == [several[:1], several[1:]]
    assert len(work.between(8, 20).parts) == 2


@pytest.mark.parametrize("fold", [1, 3, 100])
def test_however_ranges_are_merged_it_is_the_same(
    own: Path, fold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = sorted(own.glob("quorum/judged/*.slim.parquet"))
    monkeypatch.setattr(campaigns, "FOLD", fold)
    at_once = merge(pa.concat_tables([pq.read_table(path, schema=SLIM) for path in paths]))
    assert campaigns.merge_files(paths[::-1]) == at_once.combine_chunks()
    paths[0].write_bytes(b"PAR1")
    with pytest.raises(TraceError, match="remove it, and its range is judged again"):
        campaigns.merge_files(paths)


def test_other_code_judges_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "code_digest", lambda specs: "of tomorrow")
    entry = read_manifest(own / "quorum").parts[0]
    assert ranges.read_receipt(own / "quorum", entry, "of tomorrow") is None
    campaign(own)
    assert ranges.read_receipt(own / "quorum", entry, "of tomorrow") is not None


def test_a_dead_tlc_loses_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = StandIn(dies_after=2)
    with pytest.raises(ToolError, match="TLC died"):
        campaign(HERE, runs=4, stand_in=first)
    second = StandIn()
    campaign(HERE, runs=4, stand_in=second)
    assert first.asked and second.asked
    whole = StandIn()
    campaign(Path("other"), runs=4, stand_in=whole, store=tmp_path / "empty")
    assert first.asked + second.asked == whole.asked


def test_steps_of_an_earlier_campaign_are_not_judged_again(own: Path) -> None:
    again = StandIn()
    campaign(Path("other"), stand_in=again)
    assert not again.asked
    timings = msgspec.json.decode(Path("other/timings.json").read_bytes())
    (tlc,) = timings["tlc"]
    assert tlc["classes"] == tlc["judged_before"] > 0 == tlc["jvms"]


@pytest.mark.slow
def test_an_extended_campaign_is_one_that_was_longer(
    own: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = when_written(own)
    extended(own, 4)
    after = when_written(own)
    assert {path: after[path] for path in before} == before
    plan = read_plan(own)
    assert plan.runs == plan.reported == RUNS + 4
    Path("long").mkdir()
    monkeypatch.chdir("long")
    monkeypatch.setattr("kraftcheck.traces.jobs.plan.range_runs", lambda runs: plan.range_runs)
    campaign(HERE, runs=RUNS + 4, store=own.absolute().parent.parent / ".verdicts")
    assert contents(HERE) == contents(Path("..") / HERE)


def test_an_extension_that_was_interrupted_is_asked_for_again(own: Path) -> None:
    with (
        mock.patch.object(ranges, "simulated", side_effect=MemoryError("none left")),
        pytest.raises(ToolError, match="MemoryError"),
    ):
        extended(own, 2)
    with pytest.raises(TraceError, match="an extension by 2 runs is not finished"):
        extended(own, 3)
    extended(own, 2)
    assert read_plan(own).reported == RUNS + 2


def test_however_runs_are_cut_the_findings_are_the_same(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kraftcheck.traces.jobs.plan.range_runs", lambda runs: 5)
    campaign(HERE, store=finished / ".verdicts")
    assert len(receipts(HERE)) == 3
    found = (HERE / "findings.json").read_bytes()
    assert found == (finished / HERE / "findings.json").read_bytes()


def test_a_full_disk_is_one_line_and_what_was_finished_stays(
    own: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for victim in list(own.glob("quorum/judged/*-00000000[45]-*.range.json")):
        victim.unlink()
    wrote: list[Path] = []

    def full(path: Path, data: bytes) -> None:
        if path.name.endswith(".measures.parquet"):
            wrote.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace_file(path, data)

    monkeypatch.setattr(ranges, "replace_file", full)
    with pytest.raises(TraceError, match="judged: no space left"):
        campaign(own)
    assert len(wrote) == 1 and len(receipts(own)) == RUNS - 2
    monkeypatch.setattr(ranges, "replace_file", replace_file)
    campaign(own)
    assert contents(own) == contents(finished / HERE)


# -- Violations


@pytest.mark.slow
def test_progress_says_what_was_found_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(campaigns, "EVERY_S", 0.0)
    said: list[tuple[int, int, str]] = []

    def progress(stage: str, done: int, total: int, _: str, found: str) -> None:
        if stage == "ranges":
            said.append((done, total, found))

    bad = (Configuration(name="bad", scenario="quorum", bug="Z01"),)
    found = campaign(HERE, 24, bad, told=Listener(progress=progress))
    assert found is not None
    assert said[0] == (0, 24, "0 steps, 0 distinct, no violation")
    (only,) = found["configurations"]
    distinct = sum(only["conformance"]["distinct"][each] for each in ("canonical", "first_rows"))
    sums = f"{only['steps']:,} steps, {distinct:,} distinct"
    assert said[-1] == (24, 24, f"{sums}, {only['bad_runs']} runs violate something")
    # Judged anew because code has changed: what the old receipts say is not counted.
    monkeypatch.setattr(ranges, "code_digest", lambda _: "of other code")
    said.clear()
    campaign(HERE, 24, bad, told=Listener(progress=progress))
    assert said[0][2] == "0 steps, 0 distinct, no violation"


def test_the_first_violation_is_told_and_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = (Configuration(name="bad", scenario="quorum", bug="Z01"),)
    told: list[Announced] = []
    listener = Listener(violation=told.append)
    assert campaign(HERE, 24, bad, told=listener, fail_fast=True) is None
    (first,) = told
    assert first.configuration == "bad" and first.what.startswith("invariant: ")
    assert first.replay == f"kraftcheck replay c/bad --run {first.run}"
    stopped = receipts(HERE)
    assert 0 < len(stopped) < 24 // read_plan(HERE).range_runs
    # Asked again it says so again, and does no more; without the option it goes on.
    assert campaign(HERE, 24, bad, told=listener, fail_fast=True) is None
    assert receipts(HERE) == stopped and told == [first, first]
    found = campaign(HERE, 24, bad)
    assert found is not None and found["verdict"] == "violated"
    (only,) = found["configurations"]
    assert only["bad_runs"] > 0 and only["violations"][0]["run"] <= first.run
    assert "invariant VoteOnce was violated" in " ".join(found["reasons"])


def test_configurations_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both = (
        Configuration(name="one", scenario="quorum", options={"voters": 1}),
        Configuration(name="three", scenario="quorum", options={"voters": 3}),
    )
    found = campaign(HERE, 2, both)
    assert found is not None
    assert [each["name"] for each in found["configurations"]] == ["one", "three"]
    assert found["runs"] == 4 and found["verdict"] == "holds"
    never = [set(each["coverage"]["never"]) for each in found["configurations"]]
    assert never[1] < never[0]


def test_what_goes_wrong_in_a_run_names_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = simulated

    def wrong(campaign: Any, first: int, runs: int) -> Any:
        assert not first <= 5 < first + runs, "a law was broken"
        return right(campaign, first, runs)

    monkeypatch.setattr(ranges, "simulated", wrong)
    monkeypatch.chdir(tmp_path)
    own = run_seed(SEED, 5)
    with pytest.raises(ToolError, match=rf"run 5 of scenario quorum, seed 3 .* seed is {own}\) "):
        campaign(HERE)
    assert len(receipts(HERE)) == 5


def test_whatever_simulates_is_in_the_digest(repo_root: Path) -> None:
    modules = find_modules(repo_root, ("reference",))
    waiting, needed = ["reference.runner.run"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in modules and name not in needed:
            needed.add(name)
            waiting += [each.target for each in imports_of(name, modules[name], modules)]
    digested = {path.resolve() for path in ranges._simulates()}
    assert len(needed) > 60
    assert [name for name in sorted(needed) if modules[name].resolve() not in digested] == []


def test_whatever_judges_is_in_the_digest(
    specs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(specs_dir / "partition" / "steps", tmp_path / "partition" / "steps")
    before = ranges.code_digest(tmp_path)
    monkeypatch.setattr(ranges, "JUDGES", ranges.JUDGES[:-1])
    ranges.code_digest.cache_clear()
    assert ranges.code_digest(tmp_path) != before
    monkeypatch.undo()
    (tmp_path / "partition" / "steps" / "BrokerCases.tla").write_text("changed", encoding="utf-8")
    ranges.code_digest.cache_clear()
    assert ranges.code_digest(tmp_path) != before
    (tmp_path / "partition" / "models").mkdir()
    model = tmp_path / "partition" / "models" / "MC.tla"
    model.write_text("a model judges no step", encoding="utf-8")
    changed = ranges.code_digest(tmp_path)
    ranges.code_digest.cache_clear()
    assert ranges.code_digest(tmp_path) == changed


# -- What is refused


def test_other_questions_to_a_folder_are_refused(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TraceError, match=f"holds another campaign: runs {RUNS} and not 17"):
        campaign(own, runs=17)
    monkeypatch.setattr("kraftcheck.traces.jobs.plan.reference_digest", lambda: "of tomorrow")
    with pytest.raises(TraceError, match="begun by another version of the reference"):
        campaign(own)


def test_a_wrong_option_is_said_before_anything_is_written(tmp_path: Path) -> None:
    odd = (Configuration(name="odd", scenario="quorum", options={"voter": 3}),)
    with pytest.raises(ToolError, match="configuration odd: no option 'voter'; did you mean"):
        campaign(tmp_path / "c", 2, odd)
    assert not (tmp_path / "c").exists()


# -- With TLC itself


@pytest.mark.slow
@pytest.mark.tlc
def test_rejected_steps_are_told_from_the_store_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"voters": 3, "fetch_max_records": 2, "watched": False}
    bad = (Configuration(name="bad", scenario="quorum", bug="Z01", options=options),)
    found = []
    for folder in ("first", "second"):
        Path(folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        plan = begin(HERE, plan_of(bad, 1, SEED))
        run = Options(backend=Pool(1), store=tmp_path / "store")
        found.append(run_campaign(HERE, plan, run))
        monkeypatch.chdir(tmp_path)
    assert found[0] == found[1]
    assert contents(Path("first/c")) == contents(Path("second/c"))
    assert found[0] is not None and found[0]["verdict"] == "violated"
    conformance = found[0]["configurations"][0]["conformance"]
    assert conformance["rejected"] > 0 and conformance["rejections"][0]["differences"]
    timings = msgspec.json.decode(Path("second/c/timings.json").read_bytes())
    assert timings["tlc"][0]["jvms"] == 0


def test_long_campaigns_have_longer_ranges() -> None:
    asked = (1, 24, 2_000, 16_000, 250_000, 500_000, 1_000_000, 10_000_000)
    assert [range_runs(runs) for runs in asked] == [1, 2, 125, 1000, 1000, 2000, 4000, 4000]
