"""Every property says what it means and what it would miss."""

from __future__ import annotations

import pytest

from kraftcheck.reference.kit.properties import Declared, of_state, sentence_and_misses
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS


def silent(protocol: Protocol) -> list[str]:
    """The properties that lack one of the two."""
    own = protocol.properties or (protocol.world.properties if protocol.world else ())
    assert own, f"{protocol.name} promises nothing"
    return [each.name for each in own if not (each.sentence and each.misses)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.name)
def test_every_property_says_what_it_means_and_what_it_misses(protocol: Protocol) -> None:
    assert silent(protocol) == []


def test_a_property_that_does_not_say_it_is_seen() -> None:
    declared = Declared("after")

    def only_means(after: object) -> str | None:
        """It means something."""

    declared("state")(only_means)
    assert [(each.sentence, each.misses) for each in declared.all] == [("It means something.", "")]


def test_what_it_misses_is_no_part_of_its_sentence() -> None:
    def both() -> None:
        """It means
        something.

        Misses: what is not
        there.
        """

    assert sentence_and_misses(both) == ("It means something.", "what is not there.")


def test_a_mapping_of_rows_that_was_changed_is_another_state() -> None:
    made: list[dict[int, int]] = []

    def state_of(constants: object, rows: dict[int, int]) -> int:
        made.append(dict(rows))
        return rows[1]

    def is_low(state: int) -> str | None:
        return "high" if state > 1 else None

    def does_not_fall(old: int, new: int) -> str | None:
        return "falls" if new < old else None

    named = of_state(state_of)
    low, rising = named("IsLow", is_low), named("DoesNotFall", does_not_fall)
    constants, before, after = object(), {1: 0}, {1: 1}
    assert [each.check(constants, before, after) for each in (low, rising)] == [None, None]
    assert made == [{1: 0}, {1: 1}] * 2, "nothing is kept from one question to the next"
    after[1] = 2
    assert low.check(constants, before, after) == "high"
    before[1] = 3
    assert rising.check(constants, before, after) == "falls"
    assert low.check(object(), before, {1: 2}) == "high"
    assert made[-1] == {1: 2}, "of other constants it is another"
