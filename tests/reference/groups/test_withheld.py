"""Who may be given a partition: what a coordinator appends, and what one that moves finds."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.groups.messages import COORDINATOR, GroupTail
from kraftcheck.reference.groups.properties import state_of, withheld
from tests.reference.groups.plants import BOTH, GROUP, NOBODY, THREE, coordinator, record, settled


@pytest.mark.parametrize("appends", [True, False])
def test_a_coordinator_that_moves_assigns_nothing(appends: bool) -> None:
    """What it finds behind what is committed, another one has assigned."""
    taken = replace(GROUP, members=(replace(record(1), assigned=BOTH), record(2), *NOBODY[:1]))
    row = coordinator(GROUP)
    tails = (*row.log.tails, GroupTail((taken,))) if appends else row.log.tails
    log = replace(row.log, leader=(taken,), tails=tails)
    before = settled()
    after = {**before, COORDINATOR: replace(row, log=log)}
    said = withheld(state_of(THREE, before), state_of(THREE, after))
    assert said == ("partition 2 of member 2 is given to member 1" if appends else None)
