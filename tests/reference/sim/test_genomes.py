"""Genomes: what a run is made of, changed, cut, spliced and continued."""

from __future__ import annotations

import pytest

from reference.runner.run import simulate_run
from reference.sim.choices import Choice, RecordingChooser, SeededChooser, SeededStream
from reference.sim.genomes import CHANGED_AT_MOST, MUTATIONS, Choices, Genome, decode, encode


def made_by(seed: int) -> Choices:
    chooser = RecordingChooser(SeededChooser(seed))
    simulate_run("quorum", 0, 0, chooser=chooser)
    return tuple(chooser.choices)


ONE, OTHER = made_by(1), made_by(2)


def mutated(how: str, key: bytes) -> Choices:
    return MUTATIONS[how](ONE, OTHER, SeededStream(key))


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
    made = {mutated(how, bytes([number])) for number in range(8)}
    assert len(made) > 4 and ONE not in made
    assert mutated(how, b"k") == mutated(how, b"k")
    run = simulate_run("quorum", 0, 0, chooser=Genome(mutated(how, b"k"), 3).chooser())
    assert run.steps


def test_each_mutation_does_what_it_says() -> None:
    changed, cut = mutated("change", b"k"), mutated("cut", b"k")
    assert len(changed) == len(ONE)
    differ = sum(one != other for one, other in zip(ONE, changed, strict=True))
    assert 0 < differ <= CHANGED_AT_MOST
    assert len(cut) < len(ONE) and set(cut) <= set(ONE)
    continued = mutated("continue", b"k")
    assert continued == ONE[: len(continued)]
    spliced = mutated("splice", b"k")
    kept = next(at for at in range(len(ONE) + 1) if spliced[: at + 1] != ONE[: at + 1])
    assert spliced[kept:] == OTHER[len(OTHER) - len(spliced) + kept :]


def test_choices_are_read_back_as_they_were() -> None:
    assert decode(encode(ONE)) == ONE
    assert len(encode(ONE)) < 8 * len(ONE)


@pytest.mark.parametrize(
    "data", [b"", b"text", encode(ONE)[:-3], encode((Choice("network", 3, 5),))]
)
def test_what_are_no_choices_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no choices of a run"):
        decode(data)
