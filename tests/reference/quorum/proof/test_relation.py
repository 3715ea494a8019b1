"""Taking a relation leaves the core as it was."""

from __future__ import annotations

import pytest

from kraftcheck.reference.kit import log
from kraftcheck.reference.quorum import handlers as quorum
from kraftcheck.reference.quorum.messages import ElectionTimeout
from kraftcheck.reference.quorum.proof.relation import abstract_logs, cases
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants

TWO = Constants((0, 1), 1)


def test_the_core_is_as_it_was_when_a_relation_has_been_taken() -> None:
    before = [getattr(log, name) for name in ("end_offset", "prefix", "cache_assign")]
    with pytest.raises(ZeroDivisionError), abstract_logs():
        assert log.end_offset is not before[0]
        raise ZeroDivisionError
    list(cases(TWO, QuorumRules(TWO), [ElectionTimeout]))
    assert before == [getattr(log, name) for name in ("end_offset", "prefix", "cache_assign")]
    assert vars(quorum)["canonical"] is not tuple
