"""Runs that begin in the middle of counterexamples of TLC: where, and that they are runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from reference.partition.sim import beginnings as read, begun
from reference.partition.sim.beginnings import COUNTEREXAMPLES, Counterexample, beginnings
from reference.partition.sim.begun import BegunSimulation
from reference.partition.sim.machine import PartitionMemo
from reference.partition.sim.options import PartitionOptions, promise_of
from reference.partition.sim.scenario import PARTITION
from reference.partition.steered.schedule import PartitionSchedule
from reference.runner.run import simulate_genomes, simulate_run
from reference.sim.choices import RecordingChooser, ReplayChooser, SeededChooser
from reference.sim.genomes import Genome
from reference.sim.recorder import Recorder
from reference.steered.scripts import Script, read as read_script
from tests.stateful import shown_by_tlc
from tests.stateful.beginnings import KEPT
from traces.checkers.arrow import from_arrow
from traces.checkers.assessment import assess
from traces.checkers.verdict import HOLDS
from traces.counterexamples.moves import make
from traces.jobs.checks import check_runs
from traces.jobs.columns import Part
from traces.schema import PROGRESSED


def script_of(name: str) -> Script:
    return read_script((KEPT / f"tlc-{name}.moves").read_text("utf-8"))[0]


def begin(name: str, moves: int, bug: str | None = None) -> BegunSimulation:
    options = PartitionOptions(**COUNTEREXAMPLES[name].options, begins=(name, moves))
    chooser, memo = SeededChooser(1), PartitionMemo(bug)
    simulation = BegunSimulation(PARTITION, options, chooser, memo, Recorder(0))
    simulation.begin()
    return simulation


def test_they_are_those_of_the_corpus() -> None:
    assert shown_by_tlc.WRITTEN.read_text("utf-8") == shown_by_tlc.written()


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_a_run_begins_where_a_schedule_of_the_same_moves_ends(name: str) -> None:
    shown = COUNTEREXAMPLES[name]
    simulation = begin(name, len(shown.moves))
    script = script_of(name)
    schedule = PartitionSchedule(msgspec.convert(dict(script.options), PartitionOptions))
    for words in script.moves:
        if not make(schedule, words):
            break
    for node in simulation.brokers:
        assert simulation.row(node).leader_epoch == schedule.row(node).leader_epoch
        # Clients, and so producers, have other names.
        of = [msgspec.structs.replace(r, producer=0) for r in simulation.row(node).log]
        assert of == [msgspec.structs.replace(r, producer=0) for r in schedule.row(node).log]
        assert simulation.row(node).isr == schedule.row(node).isr
    assert simulation.controller == schedule.controller
    assert simulation.metadata == schedule.metadata


def test_what_is_not_possible_ends_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that was never sent, or was another one, or to another; a want that nobody has."""
    whole = COUNTEREXAMPLES["Z28"]
    at = next(n for n, words in enumerate(whole.moves) if "hears" in words)
    node, _, number, kind = whole.moves[at].split()
    for planted in (
        f"{node} hears 99 {kind}",
        f"{node} hears {number} HeartbeatRequest",
        f"{int(node) + 1} hears {number} {kind}",
        f"{node} does SendAlterPartition 0",
        f"{node} does SendReplicaFetch 3",
    ):
        moves = (*whole.moves[:at], planted, *whole.moves[at + 1 :])
        changed = {"Z28": Counterexample("Z28", whole.options, moves)}
        monkeypatch.setattr(begun, "COUNTEREXAMPLES", {**COUNTEREXAMPLES, **changed})
        assert begin("Z28", len(moves)).handler_calls == 1 + at, planted
    monkeypatch.undo()
    assert begin("Z28", len(whole.moves)).handler_calls == 1 + len(whole.moves)


def test_what_is_on_its_way_arrives() -> None:
    """Of Z38 the proposal of the leader, as the last move but one has sent it."""
    (found,) = [
        message.value
        for _, _, _, node, message in begin("Z38", len(COUNTEREXAMPLES["Z38"].moves) - 1).queue.heap
        if node == -2 and getattr(message, "kind", "") == "AlterPartitionRequest"
    ]
    assert [member.broker for member in found.isr] == [0, 1, 2]


def parts() -> tuple[list[Genome], Any]:
    genomes = [Genome((), 7, own) for of in beginnings().values() for own in of]
    tables, _, _ = simulate_genomes("partition", 1, 0, genomes)
    return genomes, tables


def test_they_are_runs_as_any_other() -> None:
    """Nothing is violated; they progress; clients see what is promised; steps hold together."""
    genomes, tables = parts()
    runs = tables.tables["runs"]
    assert Counter(runs["verdict"].to_pylist()) == {PROGRESSED: len(genomes)}
    assert not any(runs["violations"].to_pylist())
    recorded = zip(runs["options"].to_pylist(), runs["statistics"].to_pylist(), strict=True)
    promises = [promise_of(*each) for each in recorded]
    assert set(assess(from_arrow(runs["history"]), promises).verdicts.tolist()) == {HOLDS}
    assert not check_runs(Part(tables))


def test_a_begun_run_replays() -> None:
    own = beginnings()["Z67"][0]
    recording = RecordingChooser(SeededChooser(3))
    run = simulate_run("partition", 1, 0, options=own, chooser=recording)
    replayed = ReplayChooser(recording.choices)
    again = simulate_run("partition", 1, 0, options=own, chooser=replayed)
    assert again.steps == run.steps and not replayed.missing
    assert run.steps != simulate_run("partition", 1, 0, chooser=SeededChooser(3)).steps


def test_a_run_finds_what_no_plain_one_does() -> None:
    """Z38's own last moves lead to it, of which TLC alone needs to be told nothing."""
    found = begin("Z38", len(COUNTEREXAMPLES["Z38"].moves), "Z38")
    assert found.controller.partition.isr == (0, 1, 2)
    correct = begin("Z38", len(COUNTEREXAMPLES["Z38"].moves))
    assert correct.controller.partition.isr == (0, 1)


def test_an_unknown_counterexample_is_named() -> None:
    with pytest.raises(ValueError, match="there is no counterexample 'Z999'; there are Z23"):
        simulate_run("partition", 1, 0, options={"begins": ["Z999", 3]})


def test_ends_are_the_last_ones() -> None:
    for of, own in beginnings().items():
        for each in own:
            name, moves = each["begins"]
            shown = COUNTEREXAMPLES[name]
            assert shown.of == of and len(shown.moves) - read.LEFT_OUT <= moves > 0
