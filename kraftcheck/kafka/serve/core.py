"""The broker without its sockets: from bytes that arrive to bytes that leave.

A frame is read, handed to whoever serves its API (`metadata.py`, `data.py`), and answered at once
or when what it waits for has happened. All that leaves is in `effects`; what it is follows from the
`Setup` and from what arrived, and when.

Law of this file: no sockets, no clock, no chance: replaying the arrivals of a tape gives the same
effects (tape.py).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID
from weakref import ref

from kraftcheck.kafka.serve.apis import (
    BY_KEY,
    ERRORS,
    request_flexible,
    response_flexible,
    versions,
)
from kraftcheck.kafka.serve.batches import Batch
from kraftcheck.kafka.serve.codec import Malformed, Message, Reader, Writer, reader, uvarint, writer
from kraftcheck.kafka.serve.faults import Faults, invented
from kraftcheck.kafka.serve.partition import Observer, ServedPartition
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting
from kraftcheck.kafka.serve.world import INTERNAL, ServedWorld, Setup

FRAME_MAX: Final = 100 << 20
"""socket.request.max.bytes (W1)."""
UNSERVED_MAX: Final = 100
_HEADER: Final = struct.Struct(">hhih")
"""Of a request: API, version, correlation id, and the length of the client's name, or -1."""


class Effect(NamedTuple):
    """Something that leaves: bytes to a connection, or (None) its end, with the reason."""

    connection: int
    data: bytes | None
    why: str = ""


class Closed(Exception):
    """A request whose answer is that the connection ends."""


class Witness(Protocol):
    """Sees requests that are served, and answers that leave."""

    def requested(self, world: ServedWorld, request: Request) -> None: ...
    def answered(self, world: ServedWorld, request: Request, body: Message) -> None: ...
    def restored(self, partition: ServedPartition, batch: Batch) -> None: ...
    def committed(self, group: str, partition: ServedPartition, offset: int) -> None: ...


class Core:
    """All brokers of a cluster."""

    def __init__(
        self,
        setup: Setup,
        watched: bool = False,
        recorded: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self.setup = setup
        self.effects: list[Effect] = []
        self.unserved: dict[str, None] = {}
        """What was asked that is not served: each once."""
        self.requests = 0
        self._connections: dict[int, int] = {}
        """Open ones, with their broker."""
        self._waiting: list[Waiting] = []
        self._hurries = False
        self._expiring: dict[int, deque[tuple[int, ref[Waiting]]]] = {}
        """By how long it was to wait: when it expires."""
        self._asked: dict[int, Callable[[Any], None]] = {}
        self._numbers = 1000
        """Of requests to the reference; those below are its own clients'."""
        self._ids = 0
        self._delayed: set[int] = set()
        """Connections whose request is held back."""
        self._held: list[Request] = []
        """Requests to brokers that stand still, and those that wait for a command."""
        self._paused: set[int] = set()
        """Brokers that stood still when somebody looked last."""
        self.world = ServedWorld(setup, self, watched, recorded, observer)
        self.reach = 0
        """So far time may leap while a request is handled, in microseconds."""
        self._leaps = 0
        """As `reach`, for the request that is handled as it arrives."""
        self.on_closed: Callable[[int], None] = lambda connection: None
        """Who wants to hear that a connection is gone."""
        self.witness: Witness | None = None
        """Who sees what clients see."""
        self.gate: Serve = lambda request: self.served[request.api](request)
        """Serves a request, if it is allowed (security.py)."""
        self.faults = Faults(self.world, self.hang_up, self.go_on)
        self._up = self.world.up()
        self.listeners: list[Callable[[Set[ServedPartition]], None]] = []
        """Who wants to hear of which partitions there is news, in this order."""
        self.served: dict[str, Serve] = {}
        """Who serves each API (cluster.py)."""

    # --- What arrives

    def advance(self, now: int) -> None:
        """The cluster's own time goes on; microseconds."""
        self.world.advance_to(now, self._look)

    def at_once(self) -> None:
        """What follows now from the request that has just arrived, as far as time may leap."""
        reach, self._leaps = self._leaps, 0
        if reach:
            self.world.stirred = True
            self._look()
            self.world.advance_to(self.world.now, self._look, None, reach)

    def leap(self, until: int) -> None:
        """Time leaps, event by event, while somebody waits for the cluster alone."""
        self.world.advance_to(until, self._look, self._in_haste)

    def opened(self, connection: int, broker: int) -> None:
        if broker in self._up:
            self._connections[connection] = broker
        else:
            self._close(connection, f"broker {broker} is down")

    def closed(self, connection: int) -> None:
        self._connections.pop(connection, None)
        self._delayed.discard(connection)
        if self._held:
            self._held = [each for each in self._held if each.connection != connection]
        self.on_closed(connection)
        self._wait_for([w for w in self._waiting if w.request.connection != connection])

    def frame(self, connection: int, data: bytes) -> None:
        """A whole frame, without its length."""
        broker = self._connections.get(connection)
        if broker is None:
            return
        self.requests += 1
        try:
            request = self._read(connection, broker, data)
        except Malformed as error:
            self._close(connection, str(error))
            return
        if request is None:
            return
        if self.witness is not None:
            self.witness.requested(self.world, request)
        if self.faults.moves:
            self.faults.meet(request)
        if request.delay_ms:
            self._delayed.add(connection)
            self.after(request.delay_ms, lambda: self._handle_late(request))
        elif request.until or broker in self.world.paused:
            self._delayed.add(connection)
            self._held.append(request)
        elif connection in self._connections:
            self._leaps = self.reach
            self._handle(request)
            self._leaps = 0
            # It may have told others what they wait for.
            self.world.stirred = True
        self._look()

    def go_on(self, name: str) -> bool:
        """Requests that wait for this command are handled. Whether there are any."""
        found = [each for each in self._held if each.until == name]
        for each in found:
            each.until = ""
        self.world.stirred = self.world.stirred or bool(found)
        return bool(found)

    def _handle_held(self) -> None:
        paused = self.world.paused
        held, self._held = self._held, []
        for request in held:
            if request.until or request.broker in paused:
                self._held.append(request)
            else:
                self._handle_late(request)

    def _handle_late(self, request: Request) -> None:
        connection = request.connection
        if request.broker in self.world.paused:
            self._held.append(request)
            return
        self._delayed.discard(connection)
        if connection in self._connections:
            self._handle(request)
            if not self.waits(connection) and request.body.get("acks") == 0:
                # Nothing leaves, and the next request may come.
                self.effects.append(Effect(connection, b""))

    def _handle(self, request: Request) -> None:
        if request.cut == "before":
            self._close(request.connection, f"{request.api} cut before it was handled")
            return
        try:
            answer = invented(request) if request.invented else self.gate(request)
        except Closed as why:
            self._close(request.connection, str(why))
            return
        if isinstance(answer, dict):
            self._answer(request, answer)
        elif answer is not None:
            self._wait_for([*self._waiting, answer])
        elif request.cut:
            self._close(request.connection, f"{request.api} cut after it was handled")

    def _read(self, connection: int, broker: int, data: bytes) -> Request | None:
        """Raises Malformed, also for what is not served (W3)."""
        try:
            key, version, correlation, size = _HEADER.unpack_from(data)
            at = _HEADER.size + max(size, 0)
            client = str(data[_HEADER.size : at], "utf-8", "replace")
            name, flexible, read = _reading(key, version)
            if read is None:
                if name == "ApiVersions" and version > 0:
                    request = Request(connection, broker, name, 0, correlation, client)
                    offered = self.served[name](request)
                    assert isinstance(offered, dict), "answered at once"
                    self._answer(request, offered | {"error_code": ERRORS["UNSUPPORTED_VERSION"]})
                    return None
                self.note(f"API {key} version {version}, asked by {client!r}")
                raise Malformed(f"API {key} version {version} is not served")
            request = Request(connection, broker, name, version, correlation, client)
            if flexible:
                at = _behind_tags(data, at)
        except (struct.error, IndexError) as error:
            raise Malformed(f"no request: {error}") from None
        request.body, _ = read(data, at)
        return request

    def note(self, unserved: str) -> None:
        """Something was asked that is not served."""
        if len(self.unserved) < UNSERVED_MAX:
            self.unserved.setdefault(unserved)

    # --- Answers

    def wait(self, waiting: Waiting, timeout_ms: int, since: int | None = None) -> Waiting:
        """Have it expire after so many real milliseconds, as its client counts them.

        since: from then on, if not from now.

        Mostly it is over long before. So of all that wait for as long there is one event, for who
        came first; who waits no longer is kept by nobody.
        """
        delay = self.setup.of_clients(max(0, timeout_ms))
        due = (self.world.now if since is None else since) + delay
        queue = self._expiring.get(delay)
        if queue is None:
            queue = self._expiring[delay] = deque()
            self.world.call(max(0, due - self.world.now), self._expire, delay)
        while queue and not self._is_waiting(queue[0][1]):
            queue.popleft()
        queue.append((due, ref(waiting)))
        return waiting

    def _is_waiting(self, known: ref[Waiting]) -> bool:
        return known() in self._waiting

    def after(self, real_ms: int, what: Callable[[], None]) -> None:
        """Has something happen after so many milliseconds as clients count them."""
        self.world.call(self.setup.of_clients(real_ms), lambda _: what(), 0)

    def waits(self, connection: int) -> bool:
        """Whether a request of this connection is not answered yet."""
        if connection in self._delayed:
            return True
        return any(w.request.connection == connection for w in self._waiting)

    def _in_haste(self) -> bool:
        """Whether somebody waits for the cluster alone: for replicas, or for a topic's leaders."""
        return self._hurries

    def _wait_for(self, waiting: list[Waiting]) -> None:
        """From now on these are who waits."""
        self._waiting = waiting
        paused = self.world.paused
        self._hurries = any([w.hurries and w.request.broker not in paused for w in waiting])
        self.world.stirred = True

    def _expire(self, delay: int) -> None:
        """It may be time for the first of those that wait for so long."""
        queue = self._expiring[delay]
        while queue and not self._is_waiting(queue[0][1]):
            queue.popleft()
        if queue and queue[0][0] <= self.world.now:
            waiting = queue.popleft()[1]()
            assert waiting is not None, "it waits"
            waiting.expire()
            if waiting.request.broker not in self.world.paused:
                self._finish([w for w in self._waiting if w is waiting and w.is_ready()])
        if queue:
            self.world.call(queue[0][0] - self.world.now, self._expire, delay)
        else:
            del self._expiring[delay]

    def _look(self) -> None:
        """After each event: who has gone down, and who waits no longer."""
        if not self.world.stirred:
            return
        self.world.stirred = False
        paused = self.world.paused
        is_resumed = not self._paused <= paused
        if paused != self._paused:
            self._paused = {*paused}
            self._wait_for(self._waiting)
            self.world.stirred = False
        if self._held:
            self._handle_held()
        news = self.world.news
        if news:
            self.world.news = set()
            if self.world.offsets in news:
                self._see_who_is_up()
            for each in self.listeners:
                each(news)
            if self.faults.moves:
                self.faults.look(news)
        if self._waiting:
            self._finish(
                [
                    w
                    for w in self._waiting
                    if (is_resumed or not w.partitions or not w.partitions.isdisjoint(news))
                    and w.request.broker not in paused
                    and w.is_ready()
                ]
            )

    def _finish(self, ready: Iterable[Waiting]) -> None:
        for waiting in ready:
            self._wait_for([w for w in self._waiting if w is not waiting])
            answer = waiting.answer()
            if answer is not None:
                self._answer(waiting.request, answer)

    def _see_who_is_up(self) -> None:
        up = self.world.up()
        for connection, broker in list(self._connections.items()):
            if broker not in up:
                self._close(connection, f"broker {broker} went down")
        self._up = up

    def _answer(self, request: Request, body: Message) -> None:
        if request.connection not in self._connections:
            return
        if request.cut == "after":
            self._close(request.connection, f"{request.api} cut after it was handled")
            return
        if request.finish is not None:
            body = request.finish(body)
        flexible, write = _writing(request.api, request.version)
        out = bytearray(8)
        if flexible:
            out.append(0)
        write(out, body)
        struct.pack_into(">ii", out, 0, len(out) - 4, request.correlation)
        if request.cut == "within":
            self.effects.append(Effect(request.connection, bytes(out[: len(out) // 2])))
            self._close(request.connection, f"{request.api} cut within its answer")
            return
        self.effects.append(Effect(request.connection, bytes(out)))
        if self.witness is not None:
            self.witness.answered(self.world, request, body)
        if request.cut == "then":
            why = body.get("error_message") or f"{request.api} was refused"
            self._close(request.connection, why)

    def _close(self, connection: int, why: str) -> None:
        self.closed(connection)
        self.effects.append(Effect(connection, None, why))

    # --- The reference's answers

    def number(self, told: Callable[[Any], None]) -> int:
        """A request to the reference gets a number of its own; `told` hears the answer."""
        self._numbers += 1
        self._asked[self._numbers] = told
        return self._numbers

    def forget(self, number: int) -> None:
        self._asked.pop(number, None)

    def answered(self, partition: ServedPartition, response: Any) -> None:
        told = self._asked.pop(response.request.client, None)
        if told is not None:
            told(response)

    def new_id(self, client: str) -> str:
        """Of a member, as Kafka makes them: its client's and a number that nobody else has."""
        self._ids += 1
        return f"{client}-{UUID(bytes=self.setup.uuid(f'member/{self._ids}'))}"

    # --- Commands, of an administrator who is outside

    def command(self, said: Mapping[str, Any]) -> str:
        """Carries out a fault. Returns what is wrong with the command, or ""."""
        wrong = self.faults.command(said)
        self.world.stirred = True
        self._look()
        return wrong

    def hang_up(self) -> None:
        """On everybody: the cluster ends."""
        for connection in list(self._connections):
            self._close(connection, "the cluster ends")

    def described(self) -> Message:
        """How the cluster is, for whoever commands it; no step and no arrival."""
        return {
            "up": sorted(self._up),
            "time": self.world.now,
            "coordinator": self.world.offsets.controller.partition.leader,
            "unserved": list(self.unserved),
            "moves": [dict(each.said) for each in self.faults.moves],
            "invented": self.faults.invented,
            "topics": {
                name: [
                    {
                        "leader": each.controller.partition.leader,
                        "epoch": each.controller.partition.leader_epoch,
                        "isr": list(each.controller.partition.isr),
                        "replicas": list(each.constants.replicas),
                        "settled": each.is_agreed(),
                        "watermark": self.world.watermark(each),
                    }
                    for each in topic.partitions
                ]
                for name, topic in self.world.topics.items()
                if name not in INTERNAL
            },
        }


@lru_cache(maxsize=1024)
def _reading(key: int, version: int) -> tuple[str, bool, Reader | None]:
    """Give the name of an API, whether its header has tagged fields, and its reader.

    None, where the API is not served.
    """
    name = BY_KEY.get(key, "")
    if not name or version not in versions(name):
        return name, False, None
    return name, request_flexible(name, version), reader(f"{name}Request", version)


@cache
def _writing(api: str, version: int) -> tuple[bool, Writer]:
    """Whether the header of an answer has tagged fields, and what writes it."""
    return response_flexible(api, version), writer(f"{api}Response", version)


def _behind_tags(data: bytes, at: int) -> int:
    """Behind the tagged fields of a header. Raises IndexError, Malformed."""
    count, at = uvarint(data, at)
    for _ in range(count):
        _, at = uvarint(data, at)
        size, at = uvarint(data, at)
        at += size
    return at
