"""Which timers a step arms, cancels or shortens: protocol rules 1.3, as a function of the step.

Law of this file: no clock and no chance. A row contains no deadline (L1), so what a step does to
the timers is read off the step itself: the row before, the input, the outcome. The owner of a clock
(the simulator, a server) keeps one deadline for each armed timer and carries out the effects in the
order in which they are listed.

A timer is named by the input that its expiry delivers, `RequestTimeout(peer=2)` for one, so a clock
can be a dict from timer to deadline. When a timer expires it is no longer armed, and its input goes
to `QuorumHandlers.step`. Should that answer None, the timer is off in this state (check-quorum
where it does not apply) and nothing follows.

Durations are integers in milliseconds, as in Kafka's configuration. An effect names a kind of
duration; `bounds` says what it means under given `Timeouts`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE,
    REQUESTS,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    ElectionTimeout,
    EndQuorumEpochRequest,
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Input,
    RequestTimeout,
    Timer,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.types import (
    BACKING_OFF,
    READY,
    Constants,
    Outcome,
    Role,
    Row,
    initial_row,
)

Kind: TypeAlias = Literal["draw", "keep-remaining", "fixed", "request", "backoff"]


class Arm(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The timer gets a new deadline, and loses the one it had.

    draw: an election timeout, uniform in [T, 2T). fixed: the timer's one duration.
    keep-remaining: the deadline stays; a timer that expired just now has nothing left and is due
    at once. request: how long a request may take. backoff: after an unhelpful response, or, for
    ElectionTimeout, after a lost election (`election_backoff`).
    """

    timer: Timer
    kind: Kind


class Cancel(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The timer is no longer armed."""

    timer: Timer


class OverrideFetchTimeout(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Q11. The fetch timer is now due after `end_quorum_epoch_backoff(position, count)`.

    `position` is the node's place among `count` preferred successors, -1 when it is not listed.
    """

    position: int
    count: int


TimerEffect: TypeAlias = Arm | Cancel | OverrideFetchTimeout


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Kafka's defaults, in milliseconds (1.3)."""

    election_timeout: int = 1000
    fetch_timeout: int = 2000
    election_backoff_max: int = 1000
    election_backoff_slot: int = 100
    request_timeout: int = 2000
    retry_backoff: int = 20
    fetch_max_wait: int = 500

    @property
    def begin_quorum_epoch(self) -> int:
        """How often a leader announces itself: F/2."""
        return self.fetch_timeout // 2

    @property
    def check_quorum(self) -> int:
        """How long a leader may go without a majority's fetches: 1.5 F."""
        return self.fetch_timeout * 3 // 2


def bounds(timeouts: Timeouts, effect: Arm, retries: int = 1) -> tuple[int, int]:
    """The shortest and the longest duration that this effect allows, both included.

    Between them a drawn duration is uniform, except that a lost candidate's is a whole number of
    slots (`election_backoff`). `retries` counts its lost elections in a row, this one included.
    """
    assert effect.kind != "keep-remaining", "what remains is known to the clock alone"
    timer = effect.timer
    if isinstance(timer, ElectionTimeout):
        if effect.kind == "backoff":
            return 0, election_backoff(timeouts, election_backoff_slots(retries) - 1)
        return timeouts.election_timeout, 2 * timeouts.election_timeout - 1
    if isinstance(timer, FetchTimeout):
        fixed = timeouts.fetch_timeout
    elif isinstance(timer, BeginQuorumEpochTimeout):
        fixed = timeouts.begin_quorum_epoch
    elif isinstance(timer, CheckQuorumTimeout):
        fixed = timeouts.check_quorum
    elif isinstance(timer, FetchMaxWait):
        fixed = timeouts.fetch_max_wait
    elif effect.kind == "backoff":
        fixed = timeouts.retry_backoff
    else:
        fixed = timeouts.request_timeout
    return fixed, fixed


def election_backoff_slots(retries: int) -> int:
    """From how many slots a candidate draws after losing its `retries`-th election in a row."""
    assert retries >= 1
    return int(2 ** (min(20, retries - 1) + 1))


def election_backoff(timeouts: Timeouts, slot: int) -> int:
    """A lost candidate's back-off: min(100 * slot, B), slot uniform below the number of slots."""
    assert slot >= 0
    return min(timeouts.election_backoff_slot * slot, timeouts.election_backoff_max)


def end_quorum_epoch_backoff(timeouts: Timeouts, position: int, count: int) -> int:
    """Q11. What EndQuorumEpoch leaves of the fetch timer at this place among the successors.

    Nothing for the first, then doubling up to B. A voter that is not listed waits for B.
    """
    longest = timeouts.election_backoff_max
    if position == 0:
        return 0
    if position < 0:
        return longest
    assert position < count
    return min(longest, (longest >> (count - 1)) << (position - 1))


# --- What a step does to the timers ---

ROLE_TIMERS: dict[Role, tuple[Timer, ...]] = {
    "Unattached": (ElectionTimeout(),),
    "Prospective": (ElectionTimeout(),),
    "Candidate": (ElectionTimeout(),),
    "Resigned": (ElectionTimeout(),),
    "Follower": (FetchTimeout(),),
    "Leader": (BeginQuorumEpochTimeout(), CheckQuorumTimeout()),
    "Down": (),
    "Halted": (),
}
"""Each role's timers. They are armed when the role is entered and cancelled when it is left."""


class Kinds(NamedTuple):
    """Types of messages that matter to timers. Layers of the quorum have more of them."""

    requests: tuple[type[Any], ...] = REQUESTS
    """Each is answered, or times out."""
    fetches: tuple[type[Any], ...] = (FetchRequest,)
    """By these a leader knows that its followers live."""
    answers: tuple[type[Any], ...] = (FetchResponse,)
    """By these a follower knows that its leader does, if they have one of the errors in `well`."""
    well: tuple[str, ...] = ("NONE",)


OF_QUORUM = Kinds()


def initial_timer_effects(constants: Constants, node: int) -> tuple[TimerEffect, ...]:
    """The timers of a voter in its first state, which no step has led to."""
    role = initial_row(constants).role
    return tuple(Arm(timer, "draw") for timer in ROLE_TIMERS[role])


def timer_effects(
    constants: Constants,
    node: int,
    before: Row,
    input: Input,
    outcome: Outcome,
    kinds: Kinds = OF_QUORUM,
) -> tuple[TimerEffect, ...]:
    """What this step does to the node's timers, in the order in which it is to be done."""
    after = outcome.row
    effects: list[TimerEffect] = []
    if after is not before:
        effects += _role_timers(constants, before, input, after)
    if after.role == "Leader" or before.role == "Leader":
        effects += _leader_timers(before, input, outcome, kinds)
    elif after.role == "Follower":
        effects += _follower_timers(node, before, input, outcome, kinds)
    effects += _request_timers(constants, node, before, outcome, kinds)
    return tuple(effects)


def _entered(before: Row, after: Row) -> bool:
    """A role begins again with each epoch and each leader."""
    return (after.role, after.epoch, after.leader) != (before.role, before.epoch, before.leader)


def _role_timers(constants: Constants, before: Row, input: Input, after: Row) -> list[TimerEffect]:
    if not _entered(before, after):
        if _records_vote(before, input, after):
            return [Arm(ElectionTimeout(), "draw")]
        if after.role == "Candidate" and _lost(constants, after) > _lost(constants, before):
            return [Arm(ElectionTimeout(), "backoff")]
        return []
    timers = ROLE_TIMERS[after.role]
    effects: list[TimerEffect] = [Cancel(t) for t in ROLE_TIMERS[before.role] if t not in timers]
    for timer in timers:
        if not isinstance(timer, ElectionTimeout):
            effects.append(Arm(timer, "fixed"))
        elif _keeps_election_time(constants, before, input, after):
            effects.append(Arm(timer, "keep-remaining"))
        else:
            effects.append(Arm(timer, "draw"))
    return effects


def _records_vote(before: Row, input: Input, after: Row) -> bool:
    """Q7. Whether a standard vote was given and noted in this step."""
    return (
        isinstance(input, VoteRequest)
        and after.voted == input.source
        and (after.epoch, after.voted) != (before.epoch, before.voted)
    )


def _lost(constants: Constants, row: Row) -> bool:
    """Q8. Counted here and not asked of the rules: timers are not decisions."""
    return not constants.is_majority([v for v in constants.voters if v not in row.rejected])


def _keeps_election_time(constants: Constants, before: Row, input: Input, after: Row) -> bool:
    """1.3, hand-over: who goes Unattached from a role with an election timer keeps its time.

    Not so if it has just voted, and not if its pre-vote was lost.
    """
    if after.role != "Unattached" or _records_vote(before, input, after):
        return False
    if before.role == "Prospective":
        # Back in its own epoch after a response: that was the refusal by which it lost.
        return not (isinstance(input, VoteResponse) and after.epoch == before.epoch)
    return before.role in ("Unattached", "Candidate", "Resigned")


def _leader_timers(before: Row, input: Input, outcome: Outcome, kinds: Kinds) -> list[TimerEffect]:
    after = outcome.row
    effects: list[TimerEffect] = []
    if before.role == after.role and before.epoch == after.epoch:
        if isinstance(input, BeginQuorumEpochTimeout):
            effects.append(Arm(input, "fixed"))
        if isinstance(input, kinds.fetches) and _completes_quorum(input, outcome, kinds):
            effects.append(Arm(CheckQuorumTimeout(), "fixed"))
    if after.parked != before.parked:
        effects += [Cancel(FetchMaxWait(m)) for m in before.parked if m not in after.parked]
        effects += [Arm(FetchMaxWait(m), "fixed") for m in after.parked if m not in before.parked]
    return effects


def _completes_quorum(input: Any, outcome: Outcome, kinds: Kinds) -> bool:
    """Q15. A valid fetch after which nobody is noted completed a round: the notes were cleared."""
    refused = any(
        isinstance(m, kinds.answers)
        and m.request == input
        and (m.error not in kinds.well or getattr(m, "diverging", NO_DIVERGENCE) != NO_DIVERGENCE)
        for m in outcome.sent
    )
    return not refused and not outcome.row.fetched_voters


def _follower_timers(
    node: int, before: Row, input: Input, outcome: Outcome, kinds: Kinds
) -> list[TimerEffect]:
    after = outcome.row
    if isinstance(input, EndQuorumEpochRequest):
        if input.source == after.leader and input.epoch == after.epoch:
            listed = node in input.successors
            position = input.successors.index(node) if listed else -1
            return [OverrideFetchTimeout(position, len(input.successors))]
    elif (
        isinstance(input, kinds.answers)
        and not outcome.ignored
        and input.error in kinds.well
        and not _entered(before, after)
        and input.epoch == after.epoch
    ):
        # Q16. Any success counts: records, none, or a divergence.
        return [Arm(FetchTimeout(), "fixed")]
    return []


def _request_timers(
    constants: Constants, node: int, before: Row, outcome: Outcome, kinds: Kinds
) -> list[TimerEffect]:
    after = outcome.row
    asked = [m.destination for m in outcome.sent if isinstance(m, kinds.requests)]
    if not asked and after.connections == before.connections:
        return []
    effects: list[TimerEffect] = []
    for peer, was, now in zip(constants.nodes, before.connections, after.connections, strict=True):
        if peer in asked:
            effects.append(Arm(RequestTimeout(peer), "request"))
        elif now == BACKING_OFF and was != BACKING_OFF:
            effects.append(Arm(RequestTimeout(peer), "backoff"))
        elif now == READY and was != READY:
            effects.append(Cancel(RequestTimeout(peer)))
    return effects
