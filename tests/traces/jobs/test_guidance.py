"""Guided campaigns: the same bytes whoever works on them, killed or not; what is kept and named."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pyarrow as pa
import pytest

from benchmarks.guided import CLASSES, Met, reliable
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.kit.sometimes import Sometimes
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner import run as sim
from kraftcheck.reference.runner.run import simulate_genomes, simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import SCENARIOS
from kraftcheck.reference.sim.choices import run_seed
from kraftcheck.reference.sim.genomes import FRESH, MUTATIONS, Genome, decode
from kraftcheck.traces.jobs import campaigns, novelty, plan as plans
from kraftcheck.traces.jobs.backends import Backend, Pool, Spark
from kraftcheck.traces.jobs.campaigns import Options, run_campaign
from kraftcheck.traces.jobs.guidance import (
    BEGUN,
    WALK,
    Corpus,
    Generation,
    beginnings_of,
    genome_of,
    genomes_table,
    of_a_seed,
    read_generation,
    walks_of,
    ways_of,
)
from kraftcheck.traces.jobs.novelty import MET, SOMETIMES, conditions_of
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of, read_plan
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.sealed import sealed
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.store import Campaign, read_manifest, read_part
from tests.mutation.hunted import mutants_of
from tests.traces.jobs.small_campaigns import SEED, StandIn, contents
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path("c")
OF_A_SEED = of_a_seed(Campaign(scenario="quorum", seed=1, runs=1))
RUNS = 20
"""Two generations of eight, and half a third."""


def guided(
    directory: Path, runs: int = RUNS, backend: Backend | None = None, **configuration: Any
) -> dict[str, Any]:
    """Begins it, or goes on with it; a range has a run."""
    own = Configuration(**{"name": "quorum", "scenario": "quorum", **configuration})
    with (
        mock.patch.object(campaigns, "judge", StandIn()),
        mock.patch.object(plans, "LEAST_RANGE", 1),
    ):
        plan = begin(directory, plan_of((own,), runs, SEED, guided=True))
        found = run_campaign(directory, plan, Options(backend=backend or Pool(1)))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    where = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        guided(HERE)
    yield where


@pytest.fixture
def own(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return HERE


def campaign_of(directory: Path) -> Campaign:
    return read_manifest(directory / "quorum").campaign


# -- The same bytes


@pytest.mark.slow
def test_killed_and_taken_up_again_it_ends_in_the_same_bytes(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 in the second generation, and another hash seed before."""
    monkeypatch.chdir(tmp_path)
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.traces.jobs.test_guidance", str(HERE)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(sim.__file__).parents[2]),
            "PYTHONHASHSEED": "7",
        },
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while (
        len(list(HERE.glob("*/judged/*.range.json"))) < 11
        and driver.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.002)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert (HERE / "quorum/guided/generation-000001.json").exists()
    assert not (HERE / "findings.json").exists()
    guided(HERE)
    assert contents(HERE) == contents(finished / HERE)


@pytest.mark.slow
def test_two_processes_leave_the_same_bytes(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    guided(HERE, backend=Pool(2))
    assert contents(HERE) == contents(finished / HERE)


@pytest.mark.slow
def test_spark_leaves_the_same_bytes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each generation is a job: here of eight ranges, and of one."""
    left = []
    for backend in (Pool(1), Spark(spark)):
        where = tmp_path / backend.name.split()[0]
        where.mkdir()
        monkeypatch.chdir(where)
        guided(HERE, 9, backend)
        left.append(contents(HERE))
    assert left[0] == left[1]


@pytest.mark.slow
def test_judged_again_it_is_the_same(own: Path, finished: Path) -> None:
    """What no trace tells, which choices were made, comes of simulating again."""
    for victim in own.glob("quorum/judged/*-00000000[39]-*"):
        victim.unlink()
    guided(own)
    assert contents(own) == contents(finished / HERE)


@pytest.mark.slow
def test_an_extended_campaign_is_one_that_was_longer(own: Path) -> None:
    with mock.patch.object(campaigns, "judge", StandIn()):
        plan = plans.extended(own, read_plan(own), 6)
        run_campaign(own, plan, Options(backend=Pool(1)))
    shutil.move(own, "longer")
    guided(own, RUNS + 6)
    assert contents(own) == contents(Path("longer"))


# -- Runs


def test_runs_are_made_of_earlier_ones_and_replay(own: Path) -> None:
    campaign, trace = campaign_of(own), own / "quorum"
    manifest = read_manifest(trace)
    hows = set()
    for entry in manifest.parts:
        run = entry.first_run
        made = read_generation(trace, campaign, run).runs[run % campaign.guided]
        assert all(parent < run - run % campaign.guided for parent in made.parents)
        assert (made.how in OF_A_SEED) == (not made.parents)
        hows.add(made.how)
        genome = genome_of(trace, campaign, run)
        again = simulate_run(
            "quorum", SEED, run, options=genome.options({}), chooser=genome.chooser()
        )
        recorded = read_part(trace, entry).tables["runs"]
        assert recorded["handler_calls"].to_pylist() == [len(again.steps)]
        assert recorded["seed"].to_pylist() == [run_seed(SEED, run)]
    assert {FRESH, "fresh VoteRequest", *MUTATIONS} <= hows


def test_a_first_generation_is_that_of_a_plain_campaign() -> None:
    seeds = [Genome((), run_seed(SEED, run)) for run in range(3)]
    tables, made, decided = simulate_genomes("quorum", SEED, 0, seeds)
    assert tables.digests() == simulate_part("quorum", SEED, 0, 3).digests()
    assert len(made) == 3 and any("quorum.log_ok: yes" in told for told in decided)
    # What was remembered before is told again.
    assert simulate_genomes("quorum", SEED, 0, seeds)[2] == decided


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_of_every_scenario_it_is_known_what_its_rules_answered(scenario: str) -> None:
    _, _, decided = simulate_genomes(scenario, SEED, 0, [Genome((), 1)])
    assert any(decided)


def test_runs_begin_in_the_middle_of_something_but_not_of_what_is_sought() -> None:
    """Not of what leads to the campaign's bug; none where it fixes another constant."""
    plain = Campaign(scenario="partition", seed=1, runs=0, guided=32)
    known = beginnings_of(plain)
    assert len(known) > 20 and known.keys() < {*ways_of(plain)}
    sought = msgspec.structs.replace(plain, bug="Z38")
    assert known.keys() - beginnings_of(sought).keys() == {f"{BEGUN} Z38"}
    fixed = msgspec.structs.replace(plain, options={"replicas": 3})
    assert {o["replicas"] for of in beginnings_of(fixed).values() for o in of} == {3}
    assert len(walks_of(fixed)) == len(walks_of(plain)) > 100
    other = msgspec.structs.replace(plain, options={"replicas": 4})
    assert not beginnings_of(other) and not walks_of(other)
    longer = msgspec.structs.replace(plain, options={"faulty_ms": 500})
    assert not walks_of(longer)
    assert all(not o["begins"][2] for of in beginnings_of(longer).values() for o in of)


def test_walks_come_first_and_once() -> None:
    """Then what is plain; nothing of what they bring says which way pays."""
    size = 50
    campaign = Campaign(scenario="partition", seed=1, runs=0, guided=size)
    count = len(walks_of(campaign))
    _, made, _ = simulate_genomes("partition", 1, 0, [Genome((), 1)])
    corpus = Corpus(campaign, "this")
    hows: list[str] = []
    options = []
    for number in range(6):
        generation = corpus.generation(number)
        first = generation.first_run
        hows += [each.how for each in generation.runs]
        options += [each.options for each in generation.runs if each.how == WALK]
        met = met_by({run: [run] for run in range(first, first + size)})
        corpus.take(generation, met, genomes_table(first, [40] * size, made * size))
        if hows.count(FRESH) <= size:
            assert not any(corpus.brought.values()) or not any(corpus.brought[FRESH])
    assert hows[:count] == [WALK] * count and WALK not in hows[count:]
    assert options == walks_of(campaign)
    plain = -count % size + size
    assert hows[count : count + plain] == [FRESH] * plain
    assert {*hows[count + plain :]} > {FRESH, *MUTATIONS}


def test_a_run_that_begins_so_is_one_of_a_generation() -> None:
    """A function of the campaign and the run; half of the steps stay plain."""
    campaign = Campaign(scenario="partition", seed=1, runs=0, guided=64, bug="Z38")
    _, made, _ = simulate_genomes("partition", 1, 0, [Genome((), 1)])
    found = []
    for _ in range(2):
        corpus = Corpus(campaign, "this")
        for number in range(3):
            earlier = corpus.generation(number)
            first = earlier.first_run
            met = met_by({run: [run] for run in range(first, first + 64)})
            corpus.take(earlier, met, genomes_table(first, [40] * 64, made * 64))
        found.append(corpus.generation(3))
    assert found[0] == found[1]
    begun = [each for each in found[0].runs if each.how.startswith(BEGUN)]
    assert begun and not any(each.parents or each.choices for each in begun)
    assert all(each.how == f"{BEGUN} {each.options['begins'][0]}" for each in begun)
    assert sum(each.how == FRESH for each in found[0].runs) == 32
    options = begun[0].genome(5).options({})
    run = simulate_run("partition", 1, 0, "Z38", options, begun[0].genome(5).chooser())
    assert run.result.options.begins == tuple(options["begins"])


# -- What is new


def met_by(runs: dict[int, list[int]]) -> pa.Table:
    """MET, from the things of each run."""
    rows = [{"run": run, "thing": thing} for run, things in runs.items() for thing in things]
    return pa.Table.from_pylist(rows, schema=MET)


def test_who_meets_nothing_new_is_no_parent() -> None:
    size = 10
    campaign = Campaign(scenario="quorum", seed=1, runs=2 * size, guided=size)
    corpus = Corpus(campaign, "this")
    first = corpus.generation(0)
    assert {made.how for made in first.runs} == {FRESH}
    _, made, _ = simulate_genomes("quorum", 1, 0, [Genome((), run) for run in range(2)])
    seen = {run: [[5], [5, 8], [8]][min(run, 2)] for run in range(size)}
    corpus.take(first, met_by(seen), genomes_table(0, [9] * size, made * (size // 2)))
    second = corpus.generation(1).runs
    assert {parent for each in second for parent in each.parents} <= {0, 1}
    assert any(each.parents for each in second)
    for each in second:
        assert each.how in OF_A_SEED or decode(each.choices)


@pytest.mark.parametrize("pays", ["fresh FetchResponse", "splice"])
def test_what_brings_most_for_a_step_is_done_most(pays: str) -> None:
    """Which way pays is found out, and found out again when another does; none is given up. Half
    of what is done is plain, whatever pays."""
    corpus = Corpus(Campaign(scenario="quorum", seed=1, runs=0, guided=32), "this")
    _, made, _ = simulate_genomes("quorum", 1, 0, [Genome((), 1)])
    for turn, best in enumerate([pays, "continue"]):
        last: Counter[str] = Counter()
        for number in range(30 * turn, 30 * turn + 30):
            generation = corpus.generation(number)
            first, hows = generation.first_run, [each.how for each in generation.runs]
            things = {
                run: [100 * run + at for at in range(20 if how == best else 5)]
                for run, how in enumerate(hows, first)
            }
            corpus.take(generation, met_by(things), genomes_table(first, [40] * 32, made * 32))
            last.update(hows if number % 30 >= 10 else [])
        assert set(last) == set(ways_of(Campaign(scenario="quorum", seed=1, runs=1)))
        of_all = last.total()
        assert 0.5 <= last.pop(FRESH) / of_all < 0.6
        assert last[best] > last.total() * 0.7


def test_the_rarer_what_it_met_the_more_often_a_run_is_a_parent() -> None:
    corpus = Corpus(Campaign(scenario="quorum", seed=1, runs=40, guided=40), "this")
    _, made, _ = simulate_genomes("quorum", 1, 0, [Genome((), run) for run in range(40)])
    seen = {run: [5, 6] if run == 7 else [5] for run in range(40)}
    corpus.take(corpus.generation(0), met_by(seen), genomes_table(0, [9] * 40, made))
    drawn = [parent for g in range(1, 5) for m in corpus.generation(g).runs for parent in m.parents]
    assert set(drawn) <= {0, 7} and drawn.count(7) > 10 * drawn.count(0)


def test_what_is_met_is_told_of_each_run() -> None:
    seeds = [Genome((), run_seed(SEED, run)) for run in range(6)]
    tables, _, decided = simulate_genomes("partition", SEED, 0, seeds)
    part = Part(tables)
    named = novelty.sometimes(part, "partition", {})
    met = novelty.met(part, decided, named)
    rows = list(zip(met["run"].to_pylist(), met["thing"].to_pylist(), strict=True))
    assert rows == sorted(set(rows)) and {run for run, _ in rows} == set(range(6))
    # A run alone tells the same of itself, by names and not by places.
    alone, _, told = simulate_genomes("partition", SEED, 4, seeds[4:5])
    only = Part(alone)
    again = novelty.met(only, told, novelty.sometimes(only, "partition", {}))
    assert again["thing"].to_pylist() == [thing for run, thing in rows if run == 4]
    # Conditions count beside pairs, and a rule's answer tells two decisions apart.
    pairs = novelty.met(part, decided, {})
    assert met.num_rows - pairs.num_rows == sum(len(of) for of in named.values()) > 0
    blind = novelty.met(part, [frozenset[str]()] * len(decided), {})
    assert len(set(blind["thing"].to_pylist())) < len(set(pairs["thing"].to_pylist()))


def test_conditions_have_names_and_are_asked_of_their_own_inputs() -> None:
    for protocol in PROTOCOLS:
        names = [each.name for each in protocol.sometimes]
        assert len(names) == len(set(names)) and all(e.sentence for e in protocol.sometimes)
        inputs = {of for kind in protocol.kinds for of in kind.inputs}
        assert all(set(each.inputs) <= inputs for each in protocol.sometimes)
    assert len(conditions_of("cluster", {})) == sum(
        len(p.sometimes) for p in PROTOCOLS if p.name in ("quorum", "partition")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "protocol", [p for p in PROTOCOLS if p.by_chance], ids=lambda p: str(p.name)
)
def test_conditions_can_be_asked_of_runs_and_most_are_reached(protocol: Protocol) -> None:
    part = Part(simulate_part(protocol.name, 1, 0, 40))
    told = novelty.sometimes(part, protocol.name, {})
    assert {kind for kind, _ in told} == {SOMETIMES}
    assert 2 * len(told) > len(protocol.sometimes) > 0


# -- What a campaign says of conditions


def with_conditions(monkeypatch: pytest.MonkeyPatch, *more: Sometimes) -> None:
    monkeypatch.setattr(novelty, "conditions_of", lambda scenario, options: list(more))
    monkeypatch.setattr(
        "kraftcheck.traces.jobs.findings.conditions_of", lambda scenario, options: list(more)
    )


@pytest.mark.slow
def test_what_was_never_reached_is_told(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never = Sometimes("Never", "It never happens.", (), lambda *given: False)
    there = [*conditions_of("quorum", {}), never]
    monkeypatch.setattr(
        "kraftcheck.traces.jobs.findings.conditions_of", lambda scenario, options: there
    )
    (only,) = guided(own)["configurations"]
    told = only["sometimes"]
    names = [each["name"] for each in [*told["reached"], *told["never"]]]
    assert sorted(names) == sorted(each.name for each in there)
    assert told["reached"] and "Never" in [each["name"] for each in told["never"]]
    assert not told["raised"]
    first = told["reached"][0]
    assert 1 <= first["runs"] <= RUNS and f"--run {first['first_run']}" in first["replay"]
    assert sum(only["generations"]["ways"].values()) == RUNS


def test_a_condition_that_raises_is_named_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    of = next(kind.inputs for p in PROTOCOLS if p.name == "quorum" for kind in p.kinds)

    def fails(*given: Any) -> bool:
        raise KeyError("no such field")

    bad = Sometimes("Fails", "It fails.", tuple(of), fails)
    good = Sometimes("Happens", "It happens.", tuple(of), lambda *given: True)
    with_conditions(monkeypatch, bad, good)
    found = guided(HERE, 9)
    (only,) = found["configurations"]
    assert found["verdict"] == "unknown"
    (reason,) = only["reasons"]
    assert reason.startswith("condition Fails: KeyError: 'no such field' (test_guidance.py:")
    assert reason.endswith("could not be asked")
    assert [each["runs"] for each in only["sometimes"]["reached"]] == [9]
    assert [each["name"] for each in only["sometimes"]["never"]] == ["Fails"]


# -- How it is measured (benchmarks/guided.py)


def test_reliable_is_what_more_than_half_of_others_have_met() -> None:
    assert reliable([{1, 2, 3}, {2, 3, 4}, {3, 5}]) == {2, 3}
    assert reliable([{1, 2}, {2, 3}]) == {2}
    met = Met([], {CLASSES: {7: 3.0, 8: 1.0, 9: 2.0}})
    assert met.edges(2.0, {7: 5, 8: 2, 1: 9}) == 2
    assert met.time_to_edges(3, {7: 5, 8: 2, 1: 9}) == 3.0
    assert met.time_to_edges(8, {7: 5, 8: 2, 1: 9}) is None
    assert met.after(2.0, CLASSES) == {8, 9}
    assert met.reaches(2, {7, 8, 10}, CLASSES) == 3.0
    assert met.reaches(3, {7, 8, 10}, CLASSES) is None


def test_mutants_are_of_one_rule_each_and_always_the_same() -> None:
    found = list(mutants_of("partition", 4))
    assert [(each.id, each.title) for each in found] == [
        (each.id, each.title) for each in mutants_of("partition", 4)
    ]
    assert all(len(each.replaces) == 1 and each.protocol == "partition" for each in found)
    assert len({each.title for each in found}) == 4


# -- Bad input


def changed(directory: Path, **fields: Any) -> Path:
    """The second generation, with other content and its seal."""
    path = directory / "quorum/guided/generation-000001.json"
    generation = read_generation(directory / "quorum", campaign_of(directory), 8)
    other: Generation = msgspec.structs.replace(generation, **fields)
    path.write_bytes(sealed(msgspec.json.encode(other)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"recorded_with": "of yesterday"}, "made by another version of the reference"),
        ({"scenario": "groups"}, "a generation of groups, not of quorum"),
        ({"generation_version": 7}, "generation version 7, this kraftcheck reads 3"),
        ({"first_run": 16}, "a generation of other runs"),
    ],
)
def test_a_corpus_of_another_version_or_protocol_is_named(
    own: Path, finished: Path, fields: dict[str, Any], said: str
) -> None:
    path = own / "quorum/guided/generation-000001.json"
    whole = path.read_bytes()
    assert changed(own, **fields) == path
    with pytest.raises(TraceError, match=f"generation-000001.json: {said}") as raised:
        guided(own)
    assert "\n" not in str(raised.value)
    path.write_bytes(whole)
    guided(own)
    assert contents(own) == contents(finished / HERE)


def test_a_genome_that_is_none_is_named(own: Path) -> None:
    trace, campaign = own / "quorum", campaign_of(own)
    runs = list(read_generation(trace, campaign, 8).runs)
    runs[2] = msgspec.structs.replace(runs[2], how="splice", choices=b"no genome")
    changed(own, runs=tuple(runs))
    with pytest.raises(TraceError, match=r"generation-000001.json: run 10: no choices of a run"):
        genome_of(trace, campaign, 10)
    shutil.rmtree(own / "quorum/judged")
    with pytest.raises((TraceError, ToolError), match="run 10: no choices of a run"):
        guided(own)


def test_a_damaged_generation_is_named(own: Path) -> None:
    path = own / "quorum/guided/generation-000000.json"
    path.write_bytes(path.read_bytes().replace(b"fresh", b"fresk", 1))
    with pytest.raises(TraceError, match=r"generation-000000.json: damaged"):
        guided(own)


def test_a_plain_campaign_is_another_one(own: Path) -> None:
    plain = plan_of((Configuration(name="quorum", scenario="quorum"),), RUNS, SEED)
    with pytest.raises(TraceError, match=r"holds another campaign: guided 8 and not 0"):
        begin(own, plain)


if __name__ == "__main__":
    guided(Path(sys.argv[1]))
