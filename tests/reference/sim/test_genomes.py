"""Genomes: what a run is made of, changed, cut, spliced and continued."""

from __future__ import annotations

import pytest

from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.runner.scenarios import FAMILIES
from kraftcheck.reference.sim.choices import Choice, RecordingChooser, SeededChooser, SeededStream
from kraftcheck.reference.sim.genomes import (
    LONGEST,
    MUTATIONS,
    Choices,
    Genome,
    Parent,
    decode,
    encode,
    settings,
)
from kraftcheck.reference.sim.options import STRETCH
from kraftcheck.traces.schema import PROGRESSED, STOPPED


def made_by(seed: int) -> Choices:
    chooser = RecordingChooser(SeededChooser(seed))
    simulate_run("quorum", 0, 0, chooser=chooser)
    return tuple(chooser.choices)


ONE, OTHER = made_by(1), made_by(2)


def mutated(how: str, key: bytes, stretch: int = 1) -> Parent:
    one = Parent(ONE, {STRETCH: stretch} if stretch > 1 else {})
    return MUTATIONS[how](one, Parent(OTHER, {}), SeededStream(key))


def test_a_genome_without_choices_is_its_seed() -> None:
    assert simulate_run("quorum", 0, 0, chooser=Genome((), 1).chooser()).steps == (
        simulate_run("quorum", 0, 0, chooser=SeededChooser(1)).steps
    )


def test_where_choices_end_those_of_the_seed_go_on() -> None:
    recording = RecordingChooser(Genome(ONE[:40], 2).chooser())
    simulate_run("quorum", 0, 0, chooser=recording)
    assert tuple(recording.choices[:40]) == ONE[:40]
    assert tuple(recording.choices) not in (ONE, OTHER)
    assert any(choice.value for choice in recording.choices[40:])


@pytest.mark.parametrize("how", MUTATIONS)
def test_a_mutation_is_a_function_of_its_stream_and_makes_a_run(how: str) -> None:
    made = {mutated(how, bytes([number])).choices for number in range(8)}
    assert len(made) > 4 and ONE not in made
    one = mutated(how, b"k")
    assert mutated(how, b"k") == one
    genome = Genome(one.choices, 3, one.options)
    run = simulate_run("quorum", 0, 0, options=genome.options({}), chooser=genome.chooser())
    assert run.steps


def test_each_mutation_does_what_it_says() -> None:
    continued, options = mutated("continue", b"k")
    assert continued == ONE[: len(continued)] and options == {STRETCH: 2}
    assert all(mutated(how, b"k", LONGEST).options == {STRETCH: LONGEST} for how in MUTATIONS)
    spliced, options = mutated("splice", b"k")
    assert options == {}
    kept = next(at for at in range(len(ONE) + 1) if spliced[: at + 1] != ONE[: at + 1])
    assert spliced[kept:] == OTHER[len(OTHER) - len(spliced) + kept :]


def test_a_run_that_is_continued_goes_on_where_it_would_have_ended() -> None:
    """The same steps until trouble would be over; then more than all there were."""
    short = simulate_run("quorum", 0, 0, chooser=SeededChooser(1))
    genome = Genome(ONE, 2, {STRETCH: 2})
    longer = simulate_run("quorum", 0, 0, options=genome.options({}), chooser=genome.chooser())
    both = zip(short.steps, longer.steps, strict=False)
    same = next(at for at, (one, other) in enumerate(both) if one != other)
    assert same > len(short.steps) // 2 and len(longer.steps) > len(short.steps)
    assert longer.result.options.stretch == 2


ENDING = ("sharegroup",)
"""Their constants bound what may happen, so a run may end before its moves do."""


@pytest.mark.parametrize("scenario", FAMILIES)
def test_every_family_has_longer_runs(scenario: str) -> None:
    """Of the same seeds; what a campaign has fixed nothing changes."""
    genome = Genome((), 1, {STRETCH: 4})
    taken = [
        sum(len(simulate_run(scenario, 1, run, options=options).steps) for run in range(4))
        for options in ({}, genome.options({}), genome.options({"stretch": 1}))
    ]
    longer = 1 if scenario in ENDING else 1.5
    assert taken[1] > longer * taken[0] and taken[2] == taken[0]
    with pytest.raises(ValueError, match="stretch is 0, not from 1"):
        simulate_run(scenario, 1, 0, options={"stretch": 0})


ON_REQUEST = [name for name, of in FAMILIES.items() if of.on_request and "cluster" not in name]


@pytest.mark.parametrize("scenario", ON_REQUEST)
def test_what_is_on_request_makes_other_runs(scenario: str) -> None:
    """Also a type of message that no run draws; each setting makes other runs of the same seeds."""
    plain, *others = settings(FAMILIES[scenario].on_request).values()
    assert plain == {} and len(others) == len(FAMILIES[scenario].on_request)
    taken = [
        [simulate_run(scenario, 1, run, options=own) for run in range(4)]
        for own in (plain, *others)
    ]
    of = [[(run.result.constants, run.steps) for run in runs] for runs in taken]
    assert all(each != of[0] for each in of[1:])
    for run in (run for runs in taken for run in runs):
        assert run.result.verdict in (PROGRESSED, STOPPED) and not run.result.violations


def test_each_type_of_message_can_suffer() -> None:
    of_cluster = FAMILIES["cluster"].on_request.keys()
    assert all(FAMILIES[of].on_request.keys() < of_cluster for of in ("quorum", "partition"))
    assert FAMILIES["groups"].on_request["static=[[1,2]]"] == {"static": ((1, 2),)}


def test_choices_are_read_back_as_they_were() -> None:
    assert decode(encode(ONE)) == ONE
    assert len(encode(ONE)) < 8 * len(ONE)


@pytest.mark.parametrize(
    "data", [b"", b"text", encode(ONE)[:-3], encode((Choice("network", 3, 5),))]
)
def test_what_are_no_choices_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no choices of a run"):
        decode(data)
