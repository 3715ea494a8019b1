"""Taking a relation leaves the core as it was."""

from __future__ import annotations

import pytest

from reference.core import log, quorum
from reference.core.messages import ElectionTimeout
from reference.core.rules import QuorumRules
from reference.core.types import Constants
from reference.proofs.relation import abstract_logs, cases

TWO = Constants((0, 1), 1)


def test_the_core_is_as_it_was_when_a_relation_has_been_taken() -> None:
    before = [getattr(log, name) for name in ("end_offset", "prefix", "cache_assign")]
    with pytest.raises(ZeroDivisionError), abstract_logs():
        assert log.end_offset is not before[0]
        raise ZeroDivisionError
    list(cases(TWO, QuorumRules(TWO), [ElectionTimeout]))
    assert before == [getattr(log, name) for name in ("end_offset", "prefix", "cache_assign")]
    assert vars(quorum)["canonical"] is not tuple
