"""The quorum's proofs together: of elections, and of logs, which assumes what the other says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kraftcheck.reference.proofs.obligations import Obligation, Proof
from kraftcheck.reference.quorum.proof import completeness_proof, election
from kraftcheck.reference.quorum.types import Constants


def _obligations(properties: Sequence[str]) -> list[str]:
    names = election.obligations([name for name in properties if name in election.PROPERTIES])
    of_logs = [name for name in properties if name in completeness_proof.PROPERTIES]
    return names + (completeness_proof.obligations(of_logs) if of_logs else [])


def _discharge(nodes: int, name: str, rules: type[Any], timeout_ms: int) -> Obligation:
    constants = Constants(tuple(range(nodes)), 1)
    if name.startswith(completeness_proof.PREFIX):
        return completeness_proof.discharge(constants, name, rules, timeout_ms)
    return election.discharge(constants, name, rules, timeout_ms)


PROOF: Final = Proof(
    (*election.PROPERTIES, *completeness_proof.PROPERTIES), _obligations, _discharge
)
