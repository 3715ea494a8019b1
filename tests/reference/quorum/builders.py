"""Rows, logs and messages for tests: whatever a test does not speak of is filled in sensibly."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from hypothesis import strategies as st
from msgspec.structs import replace

from kraftcheck.reference.kit.log import Entry, Log, cache_of
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE,
    Error,
    FetchRequest,
    FetchResponse,
    Message,
    VoteRequest,
)
from kraftcheck.reference.quorum.types import (
    NOBODY,
    Constants,
    Outcome,
    QuorumStateFile,
    Role,
    Row,
    initial_row,
)

THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
ONE = Constants(voters=(1,), fetch_max_records=2)
FIVE = Constants(voters=(1, 2, 3, 4, 5), fetch_max_records=2)


def log_of(*epochs: int) -> Log:
    """A log with these epochs; the value is the offset, or 0 where an epoch begins."""
    return tuple(
        Entry(epoch, offset if offset and epochs[offset - 1] == epoch else 0)
        for offset, epoch in enumerate(epochs)
    )


def row_of(
    role: Role = "Unattached",
    epoch: int = 1,
    leader: int = NOBODY,
    voted: int = NOBODY,
    log: Log = (),
    constants: Constants = THREE,
    **more: Any,
) -> Row:
    """A row whose durable parts fit: everything flushed, the cache of the log, the file written."""
    row = replace(
        initial_row(constants),
        role=role,
        epoch=epoch,
        leader=leader,
        voted=voted,
        quorum_state=QuorumStateFile(epoch, leader, voted),
        log=log,
        flushed=len(log),
        epoch_cache=cache_of(log),
    )
    return replace(row, **more)


def leader_of(node: int, epoch: int, log: Log, constants: Constants = THREE, **more: Any) -> Row:
    """A leader whose epoch starts where its log first names it."""
    start = next(offset for offset, entry in enumerate(log) if entry.epoch == epoch)
    more = {"epoch_start": start, **more}
    return row_of("Leader", epoch, node, node, log, constants, **more)


def vote_request(
    source: int = 2,
    destination: int = 1,
    epoch: int = 2,
    last_epoch: int = 1,
    last_offset: int = 1,
    pre_vote: bool = False,
) -> VoteRequest:
    return VoteRequest(source, destination, epoch, last_epoch, last_offset, pre_vote)


def fetch_request(
    source: int = 2,
    destination: int = 1,
    epoch: int = 1,
    fetch_offset: int = 0,
    last_fetched_epoch: int = 0,
) -> FetchRequest:
    return FetchRequest(source, destination, epoch, fetch_offset, last_fetched_epoch)


def fetch_response(request: FetchRequest, **more: Any) -> FetchResponse:
    """An answer of the leader that was asked: no records, high watermark unknown."""
    answer = FetchResponse(
        source=request.destination,
        destination=request.source,
        error="NONE",
        epoch=request.epoch,
        leader=request.destination,
        records=(),
        diverging=NO_DIVERGENCE,
        high_watermark=-1,
        request=request,
    )
    return replace(answer, **more)


def taken(outcome: Outcome | None) -> Outcome:
    """The outcome of an input that must not be disabled."""
    assert outcome is not None, "the input is disabled"
    return outcome


def only(outcome: Outcome) -> Message:
    """The one message that was sent."""
    assert len(outcome.sent) == 1, outcome.sent
    return outcome.sent[0]


def handlers(constants: Constants = THREE) -> QuorumHandlers:
    return QuorumHandlers(constants)


def logs(max_epoch: int = 4, max_size: int = 8) -> st.SearchStrategy[Log]:
    """Logs as leaders write them: epochs ascend, values are arbitrary."""
    entries = st.tuples(st.integers(1, max_epoch), st.integers(0, 2))
    return st.lists(entries, max_size=max_size).map(
        lambda pairs: tuple(
            Entry(epoch, value)
            for epoch, (_, value) in zip(sorted(e for e, _ in pairs), pairs, strict=True)
        )
    )


def anything(of: type[Any]) -> st.SearchStrategy[Any]:
    """Values of one of our types, with small numbers in them, sensible or not."""
    small = st.integers(-1, 9)
    known: dict[Any, st.SearchStrategy[Any]] = {
        int: small,
        bool: st.booleans(),
        tuple[int, ...]: st.lists(small, max_size=3).map(tuple),
        Log: logs(),
        Error: st.sampled_from(get_args(Error)),
    }
    fields = {
        name: known[hint] if hint in known else anything(hint)
        for name, hint in get_type_hints(of).items()
    }
    return st.builds(of, **fields)
