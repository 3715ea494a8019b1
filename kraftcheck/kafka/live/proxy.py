"""A proxy between clients and brokers that lies: it drops or doubles acknowledged batches.

It is here to be caught. It can also lose answers as a network does, which is no lie. What a client
of the proxy is told of brokers' addresses is rewritten in place, so that all of its connections go
through the proxy; therefore the proxy's address must be as long as the brokers'. Topics of one
partition only: an invented answer is the last true one with the next offset.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterable
from typing import Literal

from kraftcheck.kafka.live.cluster import ClusterError, Node
from kraftcheck.kafka.live.interpose import pump

PRODUCE = 0
"""Kafka's API key."""
HOST = "127.0.0.1"
OURS = 1 << 30
"""Correlation ids from here on are the proxy's own."""

Lie = Literal["drop", "double"]


class Proxy:
    """For clients that begin at `bootstrap`; every `every`th produce request is lied about.

    drop: acknowledged and never passed on. double: passed on twice. told: how many lies so far.
    None: it does not lie. While `silent` is set, answers to produce requests get lost.
    Raises ClusterError: the brokers' addresses have another length than the proxy's.
    """

    def __init__(self, brokers: Iterable[Node], lie: Lie | None, every: int = 1) -> None:
        self._lie, self._every = lie, every
        self.silent = threading.Event()
        self._lock = threading.Lock()
        self._produced = self.told = 0
        self._listeners: list[socket.socket] = []
        self._names: dict[bytes, bytes] = {}
        for node in brokers:
            if len(node.address) != len(HOST):
                raise ClusterError(f"{node.address} and {HOST} are not of the same length")
            listener = socket.create_server((HOST, 0))
            self._listeners.append(listener)
            address, _, port = node.listener.rpartition(":")
            self._names[_name(address, int(port))] = _name(*listener.getsockname())
            upstream = (address, int(port))
            threading.Thread(target=self._accept, args=(listener, upstream), daemon=True).start()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{each.getsockname()[1]}" for each in self._listeners)

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()

    def rewritten(self, frame: bytes) -> bytes:
        """An answer in which every broker has the proxy's address."""
        for theirs, ours in self._names.items():
            frame = frame.replace(theirs, ours)
        return frame

    def is_due(self) -> bool:
        """Whether to lie about this produce request."""
        with self._lock:
            self._produced += 1
            return self._produced % self._every == 0

    def lied(self) -> None:
        with self._lock:
            self.told += 1

    def _accept(self, listener: socket.socket, upstream: tuple[str, int]) -> None:
        while True:
            try:
                down, _ = listener.accept()
            except OSError:
                return
            try:
                up = socket.create_connection(upstream, timeout=5)
                up.settimeout(None)
            except OSError:
                down.close()
                continue
            line = Line(self, self._lie, up.sendall, down.sendall)
            for source, sink, gate in ((down, up, line.ask), (up, down, line.answer)):
                threading.Thread(target=pump, args=(source, sink, gate), daemon=True).start()


class Line:
    """One connection. A gate returns the frame to pass on; None: nothing is passed on."""

    def __init__(
        self,
        proxy: Proxy,
        lie: Lie | None,
        send_up: Callable[[bytes], None],
        send_down: Callable[[bytes], None],
    ) -> None:
        self._proxy, self._lie = proxy, lie
        self._send_up, self._send_down = send_up, send_down
        self._versions: dict[int, int] = {}
        self._last: tuple[int, bytes] | None = None

    def ask(self, frame: bytes) -> bytes | None:
        api, version, correlation = struct.unpack_from(">hhi", frame)
        if api != PRODUCE:
            return frame
        self._versions[correlation] = version
        if self._lie is None or not self._proxy.is_due():
            return frame
        if self._lie == "double":
            self._proxy.lied()
            again = frame[:4] + struct.pack(">i", OURS + correlation) + frame[8:]
            self._send_up(sized(frame) + sized(again))
            return None
        if self._last is None or self._last[0] != version:
            return frame
        self._proxy.lied()
        invented = invent(*self._last, correlation)
        self._last = (version, invented)
        self._send_down(sized(invented))
        return None

    def answer(self, frame: bytes) -> bytes | None:
        (correlation,) = struct.unpack_from(">i", frame)
        if correlation >= OURS:
            return None
        version = self._versions.pop(correlation, None)
        if version is not None and self._proxy.silent.is_set():
            return None
        if version is not None and error_of(version, frame) == 0:
            self._last = (version, frame)
        return self._proxy.rewritten(frame)


def invent(version: int, answer: bytes, correlation: int) -> bytes:
    """The answer to the next produce request, as if it had been appended."""
    at = _partition_at(version, answer) + 6
    (offset,) = struct.unpack_from(">q", answer, at)
    head, tail = answer[4:at], answer[at + 8 :]
    return struct.pack(">i", correlation) + head + struct.pack(">q", offset + 1) + tail


def error_of(version: int, answer: bytes) -> int:
    """The error code of a produce answer's only partition."""
    (code,) = struct.unpack_from(">h", answer, _partition_at(version, answer) + 4)
    return int(code)


def _partition_at(version: int, answer: bytes) -> int:
    """Where the first partition of a produce answer begins: index, error code, base offset.

    Before it: correlation id, the topics' count, a topic's name or id, the partitions' count; in
    versions from 9 on, counts and lengths are one byte here (KIP-482), and from 13 on topics have
    ids (KIP-516).
    """
    if version >= 13:
        return 4 + 1 + 1 + 16 + 1
    if version >= 9:
        return 4 + 1 + 1 + answer[6] + 1
    (length,) = struct.unpack_from(">h", answer, 8)
    return 4 + 4 + 2 + int(length) + 4


def sized(frame: bytes) -> bytes:
    """A frame as it goes over the wire."""
    return struct.pack(">i", len(frame)) + frame


def _name(host: str, port: int) -> bytes:
    """A broker's address, as every answer that names brokers spells it."""
    return host.encode() + struct.pack(">i", port)
