"""Every reason stands beside a mutant that is there. What it says is judged by the search."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.test_plain import EACH
from tests.mutation import covering, reasons
from tests.mutation.attack import RULES
from tests.mutation.hunted import mutants_of_rules
from tests.mutation.mutants import mutants
from tests.mutation.search import Settings


@pytest.mark.slow
def test_every_reason_belongs_to_a_mutant(repo_root: Path) -> None:
    given = reasons.read(repo_root / Settings().reasons)
    targets = covering.targets(repo_root, repo_root / Settings().table)
    every = [
        mutant
        for target in targets
        if any(id.startswith(target.path) for id in given)
        for mutant in mutants(target.path, (repo_root / target.path).read_text("utf-8"))
    ]
    assert reasons.misplaced(given, every) == []


def test_every_reason_belongs_to_a_mutant_of_a_rule() -> None:
    every = [each for of in EACH for each in mutants_of_rules(of.planted.protocol.name)]
    assert reasons.misplaced(reasons.read(RULES), every) == []
