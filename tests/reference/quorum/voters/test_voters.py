"""KIP-853 by hand: what a changed set does at once, and what it does when it is committed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.kit.log import EpochEnd
from kraftcheck.reference.protocols import ProtocolError
from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    EndQuorumEpochRequest,
    FetchRequest,
)
from kraftcheck.reference.quorum.voters.handlers import VoterHandlers
from kraftcheck.reference.quorum.voters.messages import FetchResponse, Input, RemoveVoter
from kraftcheck.reference.quorum.voters.properties import no_illegal_join
from kraftcheck.reference.quorum.voters.protocol import VOTERS
from kraftcheck.reference.quorum.voters.types import Heard, VoterRow, VotersEntry, VotersLog
from kraftcheck.reference.runner.run import simulate_run
from tests.reference.quorum.voters.plants import (
    LOG,
    OPENED,
    PLANTED,
    THREE,
    following,
    leading,
    state,
    voters,
)

HANDLERS = VoterHandlers(THREE)


def step(node: int, row: VoterRow, input: Input) -> VoterRow:
    outcome = HANDLERS.step(node, row, input)
    assert outcome is not None and isinstance(outcome.row, VoterRow)
    return outcome.row


def test_a_removed_leader_leaves_in_the_step_that_commits_it() -> None:
    removing = step(1, leading(), RemoveVoter(1))
    assert removing.role == "Leader" and removing.history[-1].voters == (2, 3)
    flushed = replace(removing, flushed=3)
    one = step(1, flushed, FetchRequest(2, 1, 1, 3, 1))
    assert one.role == "Leader" and one.high_watermark == 2
    both = HANDLERS.step(1, one, FetchRequest(3, 1, 1, 3, 1))
    assert both is not None and both.row.high_watermark == 3
    assert both.row.role == "Resigned" and both.row.change == -1
    told = {m.destination for m in both.sent if isinstance(m, EndQuorumEpochRequest)}
    assert told == {2, 3}


def test_a_leader_upgrades_only_after_it_has_heard_every_voter() -> None:
    """What the first record of voters says of their listeners, they have told it."""
    older, first = replace(THREE, kraft_version=0), (OPENED, voters(*THREE.first_voters))
    others = [n for n in THREE.first_voters if n != 1]
    for heard in ([], others):
        was = leading((OPENED,), 1, heard=tuple([Heard(n, moved=False) for n in heard]))
        said = no_illegal_join(older, {1: was}, {1: leading(first, 1)})
        unheard = f"leader 1 upgrades, and has not heard of {others}"
        assert said == (None if heard else unheard)


def answer(request: FetchRequest, records: VotersLog, diverging: EpochEnd) -> FetchResponse:
    return FetchResponse(1, 2, "NONE", 1, 1, records, diverging, 1, request)


def test_a_set_that_is_appended_below_the_old_end_is_read() -> None:
    connections = ("Awaiting", "Ready", "Ready")
    tail = following((OPENED, OPENED, OPENED), connections=connections)
    cut = step(2, tail, answer(FetchRequest(2, 1, 1, 3, 1), (), EpochEnd(1, 1)))
    assert (len(cut.log), cut.history_end) == (1, 1)
    read = step(2, cut, answer(FetchRequest(2, 1, 1, 1, 1), LOG[1:], NO_DIVERGENCE))
    assert read.history[-1].voters == (1, 2, 3)


def test_who_is_no_voter_has_no_election_timer() -> None:
    row = following((OPENED, voters(1)), role="Unattached", leader=-1)
    assert HANDLERS.step(2, row, ElectionTimeout()) is None


def test_check_quorum_spares_a_sole_voter_only_if_it_leads() -> None:
    alone = (OPENED, voters(1))
    assert HANDLERS.step(1, leading(alone), CheckQuorumTimeout()) is None
    outside = leading((OPENED, voters(2)), 1)
    assert step(1, outside, CheckQuorumTimeout()).role == "Resigned"


def test_no_run_has_a_crash_that_takes_a_set_in_force() -> None:
    """The set of one commits what the set of two has not, and its record is on no disk yet."""
    short = following(LOG[:1])
    log = (OPENED, VotersEntry(1, 7))
    before = state({1: leading(log, 1, end_offsets=(-1, 1, -1)), 2: short, 3: short})
    removing = step(1, before[1], RemoveVoter(2))
    alone = step(1, removing, FetchRequest(2, 1, 1, 1, 1))
    assert alone.high_watermark == alone.flushed == 2
    now = state({**before, 1: alone}, before)
    assert PLANTED.violated(before, now) == set()
    lossy = step(1, alone, Crash(2))
    assert PLANTED.violated(now, state({**now, 1: lossy}, now)) == {"CommittedSurvives"}
    assert VOTERS.world is not None
    crashes = [each for each in VOTERS.world.local(THREE, 1, alone) if isinstance(each, Crash)]
    assert crashes == [Crash(3)]


def test_constants_of_no_quorum_are_refused() -> None:
    with pytest.raises(ProtocolError, match="options refused: who votes is a controller"):
        simulate_run("voters", 1, 0, None, {"first_voters": (9,)})
