"""Runs that begin in the middle of counterexamples of TLC: where, and that they are runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.sim import beginnings as read, begun
from kraftcheck.reference.partition.sim.beginnings import (
    BEGINNINGS,
    COUNTEREXAMPLES,
    WALKS,
    beginnings,
    walks,
)
from kraftcheck.reference.partition.sim.begun import BegunSimulation
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions, promise_of
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.partition.system import comes_once
from kraftcheck.reference.runner.run import simulate_genomes, simulate_run
from kraftcheck.reference.sim.begun import Beginning, Mail
from kraftcheck.reference.sim.choices import RecordingChooser, ReplayChooser, SeededChooser
from kraftcheck.reference.sim.genomes import Genome
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.scripts import Script, read as read_script
from kraftcheck.traces.checkers.arrow import from_arrow
from kraftcheck.traces.checkers.assessment import assess
from kraftcheck.traces.checkers.verdict import HOLDS
from kraftcheck.traces.counterexamples.moves import make
from kraftcheck.traces.schema import PROGRESSED
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part
from tests.stateful import shown_by_tlc
from tests.stateful.beginnings import KEPT


def script_of(name: str) -> Script:
    return read_script((KEPT / f"tlc-{name}.moves").read_text("utf-8"))[0]


def begin(name: str, moves: int, bug: str | None = None, more: int = 0) -> BegunSimulation:
    options = PartitionOptions(**BEGINNINGS[name].options, begins=(name, moves, more))
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
    """A message that was never sent, or was another one, or to another; a want that nobody has, or
    that is taken though nobody has it."""
    whole = COUNTEREXAMPLES["Z28"]
    at = next(n for n, words in enumerate(whole.moves) if "hears" in words)
    node, _, number, kind = whole.moves[at].split()
    for planted in (
        f"{node} hears 99 {kind}",
        f"{node} hears {number} HeartbeatRequest",
        f"{int(node) + 1} hears {number} {kind}",
        f"{node} does SendAlterPartition 0",
        f"{node} does SendReplicaFetch 3",
        f"{node} takes SendAlterPartition",
    ):
        moves = (*whole.moves[:at], planted, *whole.moves[at + 1 :])
        changed = {"Z28": Beginning("Z28", whole.options, moves)}
        monkeypatch.setattr(begun, "BEGINNINGS", {**COUNTEREXAMPLES, **changed})
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
    """Of each counterexample some, with each number of drawn moves; and the walks."""
    some = [own for of in beginnings().values() for own in of[::9]]
    genomes = [Genome((), 7, own) for own in (*some, *walks())]
    tables, _, _ = simulate_genomes("partition", 1, 0, genomes)
    return genomes, tables


@pytest.mark.slow
def test_they_are_runs_as_any_other() -> None:
    """Nothing is violated; they progress; clients see what is promised; steps hold together."""
    genomes, tables = parts()
    runs = tables.tables["runs"]
    assert Counter(runs["verdict"].to_pylist()) == {PROGRESSED: len(genomes)}
    assert not any(runs["violations"].to_pylist())
    recorded = zip(runs["options"].to_pylist(), runs["statistics"].to_pylist(), strict=True)
    promises = [promise_of(*each) for each in recorded]
    assert set(assess(from_arrow(runs["history"]), promises, complete=False).verdicts.tolist()) == {
        HOLDS
    }
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
    with pytest.raises(ValueError, match="there is no beginning 'Z999'; there are Z23"):
        simulate_run("partition", 1, 0, options={"begins": ["Z999", 3, 0]})
    with pytest.raises(ValueError, match="begins is of runs of a partition alone"):
        simulate_run("cluster", 1, 0, options={"begins": ["Z38", 3, 0]})


def test_ends_are_the_last_ones() -> None:
    for of, own in beginnings().items():
        for each in own:
            name, moves, more = each["begins"]
            shown = COUNTEREXAMPLES[name]
            assert ("faulty_ms" in each) == bool(more)
            assert shown.of == of and len(shown.moves) - read.LEFT_OUT <= moves > 0


# -- Walks


def mails(monkeypatch: pytest.MonkeyPatch) -> list[Mail]:
    """Those of the runs that follow."""
    made: list[Mail] = []

    class Kept(Mail):
        def __init__(self, once: Any) -> None:
            super().__init__(once)
            made.append(self)

    monkeypatch.setattr(begun, "Mail", Kept)
    return made


@pytest.mark.parametrize("name", WALKS)
def test_a_run_makes_a_walk_to_its_end(name: str) -> None:
    """With the first election before it; a producer that sends takes no step."""
    moves = WALKS[name].moves
    sends = sum(" sends " in move for move in moves)
    assert begin(name, len(moves)).handler_calls == 1 + len(moves) - sends


def test_what_comes_once_comes_once_and_in_order() -> None:
    """To the controller and from it; between brokers a message may come again."""
    mail = Mail(comes_once)
    first, second = KnownInput(1, b"", "One"), KnownInput(2, b"", "Two")
    mail.post(0, ((CONTROLLER, first), (1, first)))
    mail.post(0, ((CONTROLLER, second),))
    mail.arrive(1)
    assert mail.may_arrive(0) and mail.may_arrive(1)
    mail.arrive(2)
    assert not mail.may_arrive(0) and not mail.may_arrive(2)
    assert [*mail.deliverable(False)] == [] and [*mail.deliverable(True)] == [1]


def test_moves_are_drawn_after_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a seed the same; what the mail does not have is not heard."""
    made = mails(monkeypatch)
    whole = len(COUNTEREXAMPLES["Z38"].moves)
    plain, one, again = (begin("Z38", whole, more=more) for more in (0, 48, 48))
    assert one.handler_calls == again.handler_calls > plain.handler_calls + 24
    assert len({len([*mail.left()]) for mail in made[1:]}) == 1
