"""Give a voter the rules of Kafka 4.1 and later (KIP-1166, KAFKA-17030).

It is the twin of specs/quorum/Quorum41.tla.

The differences of release 4.1 from the quorum (Q23, Q24): a fetch contains the high watermark of
its sender, a voter without a leader requests one voter after the other, a leader may announce
itself to any of them, and a voter that resigns forgets its high watermark. All else is equal.
The laws of the quorum's messages.py, types.py, rules.py and handlers.py hold for these classes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, ClassVar, Final

from msgspec.structs import asdict, replace

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.fields import SetOf
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum import messages as quorum, types
from kraftcheck.reference.quorum.handlers import Peers, QuorumHandlers
from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE,
    BeginQuorumEpochTimeout,
    Flush,
    Message,
    RequestTimeout,
    canonical,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import AWAITING, NOBODY, READY, Outcome


class FetchRequest(quorum.FetchRequest, frozen=True):
    """Q12, Q23. Asks for what follows `fetch_offset`, or for a newer high watermark."""

    high_watermark: int


class FetchResponse(quorum.FetchResponse, frozen=True):
    """Q13, Q16. As the quorum's."""

    request: FetchRequest


class FetchMaxWait(quorum.FetchMaxWait, frozen=True):
    """Q12. The wait of a parked fetch is over."""

    request: FetchRequest


_OWN: Final[dict[type[Any], type[Any]]] = {
    each.__bases__[0]: each for each in (FetchRequest, FetchResponse, FetchMaxWait)
}
INPUTS: Final[tuple[type[Any], ...]] = tuple([_OWN.get(of, of) for of in quorum.INPUTS])
MESSAGES: Final[tuple[type[Any], ...]] = INPUTS[: len(quorum.MESSAGES)]


class Constants(types.Constants, frozen=True, tag="quorum41", tag_field="protocol"):
    """As the quorum's."""

    release: ClassVar[types.Release] = "4.1"


class Row(types.Row, frozen=True, gc=False, cache_hash=True):
    """As the quorum's, with fetches that say what their sender knows."""

    parked: SetOf[FetchRequest]


def initial_row(constants: types.Constants) -> Row:
    """The first state of every voter: it knows nothing, has nothing, and begins with a start."""
    return Row(**{**asdict(types.initial_row(constants)), "role": "Down"})


class Quorum41Rules(QuorumRules):
    """The decisions that the quorum before 4.1 has not, or takes otherwise."""

    __slots__ = ()

    def knows_less(self, row: Row, m: Any) -> bool:
        """Q23 (KIP-1166). Whether a fetch is answered though there are no records for it."""
        return bool(m.high_watermark < row.high_watermark)

    def high_watermark_after_fetch(self, row: Row, m: Any) -> int:
        """Q23.

        What a leader that has noted a fetch knows to be committed: what it has counted, whatever
        the sender knows.
        """
        return row.high_watermark

    def resigned_high_watermark(self, row: Row) -> int:
        """What a resigned leader still knows to be committed."""
        return UNDEFINED


class Quorum41Handlers(QuorumHandlers):
    """The handlers, for one set of constants and one set of rules."""

    rules: Quorum41Rules
    answer = FetchResponse

    # --- The high watermark in fetches: Q23.

    def fetch_request(self, n: int, row: Any, peer: int) -> FetchRequest:
        return FetchRequest(
            source=n,
            destination=peer,
            epoch=row.epoch,
            fetch_offset=log.end_offset(row.log),
            last_fetched_epoch=self.rules.last_fetched_epoch(row),
            high_watermark=row.high_watermark,
        )

    def fetch_answer(self, row: Row, m: FetchRequest) -> Any:
        records = self.fetched_records(row, m)
        return self.fetch_response(row, m, records, NO_DIVERGENCE, row.high_watermark)

    def woken(self, before: Row, row: Row) -> tuple[FetchRequest, ...]:
        """When the high watermark moves, all waiting fetches are answered."""
        if row.high_watermark != before.high_watermark:
            return row.parked
        return tuple(m for m in row.parked if self.fetched_records(row, m))

    def handle_fetch_request(self, n: int, row: Any, m: Any) -> Outcome:
        error = self.rules.fetch_request_error(row, m)
        if error != "NONE":
            return self.finish(n, row, row, self.fetch_error_response(row, m, error))
        diverges = self.rules.fetch_diverges(row, m)
        noted: Any = self.note_fetch(n, row, m, diverges)
        known = self.rules.high_watermark_after_fetch(noted, m)
        if known != noted.high_watermark:
            noted = replace(noted, high_watermark=known)
        if diverges:
            diverging = self.diverging_epoch(row, m)
            return self.finish(
                n, row, noted, self.fetch_response(noted, m, (), diverging, noted.high_watermark)
            )
        after, replies = self._telling(row, noted)
        news = self.rules.knows_less(after, m)
        if news or self.fetched_records(after, m):
            answer = self.fetch_answer(after, m)
            return self.finish(n, row, after, *replies, *(() if answer in replies else (answer,)))
        if m not in after.parked:
            after = replace(after, parked=canonical((*after.parked, m)))
        return self.finish(n, row, after, *replies)

    def handle_flush(self, n: int, row: Any, input: Flush) -> Outcome | None:
        if row.role in ("Down", "Halted") or row.flushed == log.end_offset(row.log):
            return None
        flushed = replace(row, flushed=log.end_offset(row.log))
        counted = self.advance_high_watermark(n, flushed) if row.role == "Leader" else flushed
        after, replies = self._telling(row, counted)
        return self.finish(n, row, after, *replies)

    def _telling(self, before: Any, row: Any) -> tuple[Any, list[Message]]:
        """The row without the answered fetches, and their answers."""
        told = self.woken(before, row)
        after = replace(row, parked=tuple(m for m in row.parked if m not in told))
        return after, [self.fetch_answer(after, m) for m in told]

    # --- Changes of role.

    def become_resigned(self, n: int, row: Any, successors: Peers) -> Any:
        known = self.rules.resigned_high_watermark(row)
        return replace(super().become_resigned(n, row, successors), high_watermark=known)

    # --- The search for a leader: Q24.

    def searched(self, n: int, row: Any) -> list[Peers]:
        """The sets of peers, one of which receives the request."""
        if AWAITING in row.connections:
            return [()]
        ready = [p for p in self._others[n] if row.connections[self._position[p]] == READY]
        return [(p,) for p in ready] or [()]

    def peers_asked(self, n: int, before: Any, row: Any) -> list[Peers]:
        if row.role == "Leader" and not self.leads_same_epoch(before, row):
            return [self._others[n]]
        if row.role == "Unattached":
            return self.searched(n, row)
        if row.role == "Follower" and AWAITING in row.connections:
            return [()]
        if row.role == "Follower" and row.connections[self._position[row.leader]] != READY:
            return self.searched(n, row)
        return [self.owed(n, row)]

    def finish(self, n: int, before: Any, row: Any, *replies: Message) -> Outcome:
        return self.finish_asking(
            n, before, row, replies, self.choose(self.peers_asked(n, before, row))
        )

    def handle_request_timeout(self, n: int, row: Any, input: RequestTimeout) -> Outcome | None:
        """A follower whose leader has not answered in time asks anybody."""
        connection = row.connections[self._position[input.peer]]
        if row.role in ("Down", "Halted") or connection == READY:
            return None
        ready = self._connected(row, input.peer, READY)
        silent = row.role == "Follower" and input.peer == row.leader and connection == AWAITING
        if silent:
            return self.finish_asking(n, row, ready, (), self.choose(self.searched(n, ready)))
        return self.finish(n, row, ready)

    def receive_response(self, n: int, row: Any, m: Any, use: Callable[[Any], Outcome]) -> Outcome:
        """Take an answer with records that may come from the leader that was looked for.

        Then that leader is followed, and the answer is used.
        """
        awaited = self.rules.answers_in_flight(row, m, self.request_in_flight(n, row, m.source))
        from_here = isinstance(m, FetchResponse) and m.error == "NONE" and m.epoch == row.epoch
        if awaited and from_here and row.leader == NOBODY:
            learned = self.learn(n, self.answered(row, m), m.leader, m.epoch)
            if learned.role == "Follower":
                return use(learned)
        return super().receive_response(n, row, m, use)

    # --- Q10: a leader announces itself again to those that have not fetched for a while.

    def handle_begin_quorum_epoch_timeout(
        self, n: int, row: Any, input: BeginQuorumEpochTimeout
    ) -> Outcome | None:
        if row.role != "Leader":
            return None
        others = self._others[n]
        sizes = range(len(others), -1, -1)
        several = [each for size in sizes for each in combinations(others, size)]
        return self.finish_asking(n, row, row, (), self.choose(several))
