"""The relation is the one of TLC's graph, and a rule that is changed changes it."""

from __future__ import annotations

import pytest

from reference.core import log, quorum
from reference.core.messages import ElectionTimeout, VoteRequest
from reference.core.rules import QuorumRules
from reference.core.types import Constants, Row
from reference.proofs.relation import abstract_logs, cases
from tests.traces.cover.graphs import matched
from traces.cover import drift

TWO = Constants((0, 1), 1)


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_edges_are_solutions_and_solutions_are_edges() -> None:
    """A sample; `python -m benchmarks proofs` compares all rows of 22,349 states."""
    compared, solved, told = drift.differences(matched("quorum-few-votes"), most_rows=40)
    assert told == [] and compared == solved > 150


class _Grants(QuorumRules):
    __slots__ = ()

    def vote_granted(self, row: Row, m: VoteRequest) -> bool:
        return True


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_relation_that_drifts_is_told() -> None:
    _, _, told = drift.differences(matched("quorum-few-votes"), most_rows=60, rules=_Grants)
    assert told and all("HandleVoteRequest" in line for line in told)


def test_the_core_is_as_it_was_when_a_relation_has_been_taken() -> None:
    before = [getattr(log, name) for name in ("end_offset", "prefix", "cache_assign")]
    with pytest.raises(ZeroDivisionError), abstract_logs():
        assert log.end_offset is not before[0]
        raise ZeroDivisionError
    list(cases(TWO, QuorumRules(TWO), [ElectionTimeout]))
    assert before == [getattr(log, name) for name in ("end_offset", "prefix", "cache_assign")]
    assert vars(quorum)["canonical"] is not tuple
