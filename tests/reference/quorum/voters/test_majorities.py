"""Why one voter at a time: what every argument about two majorities rests on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import pytest

from kraftcheck.reference.quorum.voters.properties import is_majority_of

Nodes = tuple[int, ...]


def subsets(nodes: Nodes) -> Iterator[Nodes]:
    return chain.from_iterable(combinations(nodes, size) for size in range(1, len(nodes) + 1))


def majorities(voters: Nodes) -> Iterator[Nodes]:
    return (each for each in subsets(voters) if is_majority_of([*each], voters))


def have_disjoint_majorities(one: Nodes, other: Nodes) -> bool:
    return any(not {*a} & {*b} for a in majorities(one) for b in majorities(other))


@pytest.mark.parametrize("nodes", [(1, 2, 3), (1, 2, 3, 4, 5)], ids=["three", "five"])
def test_majorities_of_sets_meet_if_they_differ_by_one_voter_at_most(nodes: Nodes) -> None:
    pairs = [(one, other) for one in subsets(nodes) for other in subsets(nodes)]
    apart = {len({*one} ^ {*other}) for one, other in pairs if have_disjoint_majorities(one, other)}
    assert min(apart) == 2


def test_two_sets_that_are_each_one_change_from_a_third_may_have_majorities_apart() -> None:
    """Z114: each log changes one voter at a time, and that is not enough."""
    assert have_disjoint_majorities((1,), (2,))
    assert not have_disjoint_majorities((1, 2), (1,))
    assert not have_disjoint_majorities((1, 2), (2,))
