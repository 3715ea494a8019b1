"""Sockets before a taped cluster: one loop, a listener for each broker, and one for commands.

A connection only cuts frames, and has one at a time in work: what comes behind it waits until it is
answered, as in Kafka (W1, W4). The cluster's own time is a real clock, sped up; where a producer
waits for replicas, time leaps to what happens next.
"""

from __future__ import annotations

import asyncio
import errno
import json
import ssl
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.kafka.serve import judging
from kraftcheck.kafka.serve.clock import Clock
from kraftcheck.kafka.serve.core import FRAME_MAX
from kraftcheck.kafka.serve.keeping import Data, locked
from kraftcheck.kafka.serve.plans import Plan
from kraftcheck.kafka.serve.tape import Taped
from kraftcheck.kafka.serve.world import Setup

LEAP_US: Final = 20_000
"""So far ahead a producer's wait makes time leap."""
LATE_S: Final = 0.002
"""Timers of brokers are looked at so often, where nobody waits."""
BUFFER_MAX: Final = 1 << 16
"""Bytes behind a frame in work; then the connection is read no further."""
BUFFERED_MAX: Final = 3 * FRAME_MAX
"""Bytes of frames that are not whole, of all connections; then the one that has most of them ends.
"""
RECEIVE: Final = 1 << 17
TOGETHER_MAX: Final = 1 << 14
"""An answer of more bytes leaves at once: who does not take it is handled no further."""
TAPE_BLOCK: Final = 1 << 18
"""Bytes that are written to the tape at once; of a process that is killed, those since the last
tick are lost.
"""
_SIZE: Final = struct.Struct(">i")
STEP_MAX_MS: Final = 3_600_000
MADE_STEP_MS: Final = 1000
"""Where time goes on by command, a topic that is made has so much, for its leaders to be known."""
_AT_THE_END: Final = "heal is a part of `end`; `join broker=N` ends what `cut` began"


class Connection(asyncio.BufferedProtocol):
    def __init__(self, front: Front, broker: int) -> None:
        self._front = front
        self.broker = broker
        self.number = -1
        self.busy = False
        self.transport: Any = None
        self.buffer = bytearray()
        self.clogged = False
        """Whether its client does not take what was sent: nothing is handled for it until then."""
        self.answers: list[bytes] = []
        """What leaves together, when all frames that have come are handled."""
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._front.opened(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._front.closed(self)

    def pause_writing(self) -> None:
        self.clogged = True

    def resume_writing(self) -> None:
        self.clogged = False
        self._front.run(self)

    def get_buffer(self, _: int) -> memoryview:
        return self._front.received

    def buffer_updated(self, size: int) -> None:
        self.buffer += self._front.received[:size]
        self._front.buffered(self, size)
        if not self.busy and not self.clogged:
            self._front.run(self)
        elif len(self.buffer) > BUFFER_MAX and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def send(self) -> None:
        if self.answers:
            self.transport.write(b"".join(self.answers))
            self.answers.clear()

    def frame(self) -> bytes | None:
        """The next frame, if it is whole; one of an absurd length ends the connection."""
        buffer = self.buffer
        if len(buffer) < _SIZE.size:
            self._read_on()
            return None
        size = _SIZE.unpack_from(buffer)[0]
        if not 0 <= size <= FRAME_MAX:
            self._front.log(f"connection {self.number}: a frame of {size} bytes; closed")
            self.transport.abort()
            return None
        if len(buffer) < _SIZE.size + size:
            self._read_on()
            return None
        with memoryview(buffer) as view:
            frame = bytes(view[_SIZE.size : _SIZE.size + size])
        del buffer[: _SIZE.size + size]
        self._front.buffered(self, -_SIZE.size - size)
        return frame

    def _read_on(self) -> None:
        if self._paused:
            self._paused = False
            self.transport.resume_reading()


class Front:
    """A served cluster.

    `folder`: for tapes and what is judged. plan: commands with which each of its clusters begins.
    tls: that clients are to speak. data: where brokers keep their logs.
    """

    def __init__(
        self,
        setup: Setup,
        folder: Path,
        say: Callable[[str], None],
        plan: Plan = (),
        tls: ssl.SSLContext | None = None,
        data: Path | None = None,
    ) -> None:
        self.folder = folder
        self.log = say
        self.stopped: asyncio.Event = asyncio.Event()
        self._plan = plan
        self._tls = tls
        self._lock = None if data is None else locked(data)
        self._data = None if data is None else Data(data)
        self._setup = setup
        self._servers: list[asyncio.Server] = []
        self._connections: dict[int, Connection] = {}
        self._answered: dict[int, Connection] = {}
        """Those to whom something leaves."""
        self._numbers = self._buffered = 0
        self._tapes = 0
        self.received = memoryview(bytearray(RECEIVE))
        """For whichever connection is read next, which copies it at once."""
        self._timer: asyncio.TimerHandle | None = None
        self.admin_port = 0
        self.ended: list[judging.ServedVerdict] = []
        """Of each cluster that has ended, in order."""
        self.failed = ""
        """Why nothing can be written any more."""

    async def start(self, admin_port: int = 0) -> None:
        """Listens. Raises BadInput: a port is taken, or the plan means nothing."""
        loop = asyncio.get_running_loop()
        ports = []
        for broker, port in enumerate(self._setup.ports):
            made = lambda broker=broker: Connection(self, broker)  # noqa: E731
            opening = loop.create_server(made, self._setup.host, port, ssl=self._tls)
            server = await self._listen(opening, self._setup.host, port)
            ports.append(server.sockets[0].getsockname()[1])
        admin = asyncio.start_server(self._admin, "127.0.0.1", admin_port, limit=1 << 20)
        listening = await self._listen(admin, "127.0.0.1", admin_port)
        self.admin_port = listening.sockets[0].getsockname()[1]
        self._setup = msgspec.structs.replace(self._setup, ports=tuple(ports))
        self.begin()

    async def _listen(self, opening: Any, host: str, port: int) -> asyncio.Server:
        try:
            server: asyncio.Server = await opening
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise BadInput(f"port {port} is taken") from None
            why = str(error.strerror or error).rpartition(": ")[2]
            at = f"{host}:{port}" if port else host
            raise BadInput(f"{at}: no place to listen: {why}") from None
        self._servers.append(server)
        return server

    def begin(self) -> None:
        """A fresh cluster, with a tape of its own."""
        self._tapes += 1
        self.tape = self.folder / f"tape-{self._tapes}"
        self._file = self.tape.open("wb")
        self._clock = Clock(self._setup.speed)
        self._taped = Taped(self._setup, self._file, TAPE_BLOCK)
        self._taped.core.reach = LEAP_US
        self._told = 0
        # Metadata, and the first election.
        self._clock.leap_to(200_000)
        if self._data is not None:
            self._data.begin(self._taped, self._clock)
        for said in self._plan:
            wrong = self._taped.command(self._clock.now(), said)
            if wrong or said.get("do") == "heal":
                wrong = wrong or _AT_THE_END
                raise BadInput(f"the plan: {wrong}, in {json.dumps(said, default=str)}")
        if self._setup.speed == 0:
            self._clock.leap_to(self._clock.now() + 1000 * MADE_STEP_MS)
        self._tick()

    def end(self) -> judging.ServedVerdict:
        """The cluster's end, and what is said of it."""
        if self._data is not None:
            self._data.end(self._taped.core.world)
        self._taped.finish(self._clock.now())
        self._tell_unserved()
        for connection in self._connections.values():
            connection.transport.abort()
        self._connections.clear()
        self._buffered = 0
        self._flush()
        self._file.close()
        found = judging.judged(self.tape)
        self.ended.append(found)
        return found

    def _flush(self) -> None:
        self._taped.flush()
        self._file.flush()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for server in self._servers:
            server.close()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{self._setup.host}:{port}" for port in self._setup.ports)

    @property
    def setup(self) -> Setup:
        return self._setup

    # --- Connections

    def buffered(self, connection: Connection, size: int) -> None:
        """So many bytes more, or fewer, wait in a connection. Memory is bounded in all (W1)."""
        if connection.number not in self._connections:
            return
        self._buffered += size
        if self._buffered > BUFFERED_MAX:
            most = max(self._connections.values(), key=lambda each: len(each.buffer))
            self.log(f"connection {most.number}: {len(most.buffer)} bytes wait; closed")
            most.transport.abort()
            self.closed(most)

    def opened(self, connection: Connection) -> None:
        if self._file.closed:
            # The end has been judged, and nothing begins any more.
            connection.transport.abort()
            return
        self._numbers += 1
        connection.number = self._numbers
        self._connections[connection.number] = connection
        self._arrive("opened", connection, b"%d" % connection.broker)
        self.run(*self._leave())

    def closed(self, connection: Connection) -> None:
        if self._connections.pop(connection.number, None) is not None:
            self._drop(connection)
            self._arrive("closed", connection, b"")
            self.run(*self._leave())

    def _drop(self, connection: Connection) -> None:
        self._buffered -= len(connection.buffer)
        connection.buffer.clear()

    def run(self, *first: Connection) -> None:
        """Frames, one after the other, of connections that have none in work."""
        ready = deque(first)
        while ready:
            connection = ready.popleft()
            if connection.number not in self._connections or connection.busy or connection.clogged:
                continue
            frame = connection.frame()
            if frame is None:
                continue
            connection.busy = True
            self._arrive("frame", connection, frame)
            self._leap()
            if not self._taped.core.waits(connection.number):
                connection.busy = False
                ready.append(connection)
            ready += self._leave()
        self._send()
        self._clock.rest()

    def _arrive(self, kind: Any, connection: Connection, data: bytes) -> None:
        self._taped.arrive(kind, self._clock.now(), connection.number, data)

    def _leave(self) -> list[Connection]:
        """Sends what leaves. Those that have been answered may go on."""
        if self._data is not None:
            self._data.keep(self._taped.core.world)
        free = []
        for number, data, why in self._taped.left():
            connection = self._connections.get(number)
            if connection is None:
                continue
            if data is None:
                self.log(f"connection {number}: {why}; closed")
                del self._connections[number]
                self._drop(connection)
                connection.send()
                connection.transport.abort()
            else:
                connection.answers.append(data)
                connection.busy = False
                free.append(connection)
                self._answered[number] = connection
                if len(data) > TOGETHER_MAX:
                    connection.send()
        self._tell_unserved()
        return free

    def _send(self) -> None:
        """Answers go to clients: those of a connection at once, which costs as much as one."""
        for connection in self._answered.values():
            connection.send()
        self._answered.clear()

    def _tell_unserved(self) -> None:
        unserved = self._taped.core.unserved
        if len(unserved) > self._told:
            for said in list(unserved)[self._told :]:
                self.log(f"not served: {said}")
            self._told = len(unserved)

    # --- Time

    def _tick(self) -> None:
        try:
            self._tick_on()
        except OSError as error:
            self.failed = f"{error.filename or self.folder}: {error.strerror}"
            self.stopped.set()

    def _tick_on(self) -> None:
        self._taped.core.advance(self._clock.now())
        self.run(*self._leave())
        self._flush()
        self._clock.rest()
        due = self._taped.core.world.next_due()
        delay = LATE_S
        if self._setup.speed == 0:
            # Who waits for the cluster alone has nobody who steps.
            self._leap()
            self.run(*self._leave())
        elif due is not None:
            delay = max(delay, (due - self._clock.now()) / 1e6 / self._setup.speed)
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(delay, self._tick)

    def _step(self, ms: Any) -> str:
        """Time goes on by command. Returns what is wrong with it, or ""."""
        try:
            by = float(ms)
        except (TypeError, ValueError):
            by = 0.0
        if not 0 < by <= STEP_MAX_MS:
            return f"step: ms above 0, at most {STEP_MAX_MS}"
        self._clock.leap_to(self._clock.now() + int(1000 * by))
        self._tick()
        return ""

    def _leap(self) -> None:
        """While a producer waits, the next event is now, unless it is far."""
        core = self._taped.core
        core.leap(core.world.now + LEAP_US)
        self._clock.leap_to(core.world.now)

    # --- Commands

    async def _admin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled where the loop ends before whoever commands has gone.
        with suppress(OSError, ValueError, asyncio.CancelledError):
            while line := await reader.readline():
                writer.write(json.dumps(self._command(line)).encode() + b"\n")
                await writer.drain()
        writer.close()

    def _command(self, line: bytes) -> dict[str, Any]:
        try:
            said = json.loads(line)
            do = said["do"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return {"error": "no command: a JSON object with `do` is one"}
        if do == "describe":
            return {"error": "", **self._taped.core.described()}
        if do == "end":
            found = self.end()
            self.begin()
            return {"error": "", **msgspec.to_builtins(found)}
        if do == "quit":
            self.stopped.set()
            return {"error": ""}
        if do == "step":
            return {"error": self._step(said.get("ms"))}
        if do == "heal":
            return {"error": _AT_THE_END}
        if do == "restore":
            return {"error": "restore is none of a client's"}
        wrong = self._taped.command(self._clock.now(), said)
        self.run(*self._leave())
        if do == "create" and not wrong and self._setup.speed == 0:
            self._step(MADE_STEP_MS)
        return {"error": wrong}
