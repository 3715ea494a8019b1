"""Between a broker and another node: requests and answers of a kind can be held, and let go.

On the broker's island the other node's address is given to the loopback device, and what listens
there is this process, which passes everything on. A socket belongs to the island on which it was
made, whoever uses it; so the listening socket is made there and handed over.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable

from kraftcheck.live.cluster import Cluster

FETCH, ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS, ALTER_PARTITION = 1, 24, 27, 56
"""Kafka's API keys: a broker reads the metadata log by Fetch, and asks by AddPartitionsToTxn
whether a transaction is under way."""

_LISTEN = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
socket.send_fds(socket.socket(fileno=int(sys.argv[3])), [b"x"], [listener.fileno()])
"""


class Interposer:
    """Stands between broker `name` and a listener of another node.

    It takes all connections that the broker begins from now on. What the other node begins arrives
    only through an interposer of its own.
    """

    def __init__(self, cluster: Cluster, name: str, listener: str) -> None:
        address, _, port = listener.rpartition(":")
        self._upstream = (address, int(port))
        self._requests: dict[int, threading.Event] = {}
        self._answers: dict[int, threading.Event] = {}
        self.held = threading.Event()
        """Set when a request has been held."""
        self.answered = threading.Event()
        """Set when an answer has been held."""
        self._listener = _listener_on(cluster, name, self._upstream)
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_requests(self, api: int) -> None:
        self.held.clear()
        self._requests[api] = threading.Event()

    def hold_answers(self, api: int) -> None:
        """On connections that have asked by this API, nothing comes back."""
        self.answered.clear()
        self._answers[api] = threading.Event()

    def let_go(self, api: int) -> None:
        self.let_answers_go(api)
        _open(self._requests, api)

    def let_answers_go(self, api: int) -> None:
        """Requests that are held stay so."""
        _open(self._answers, api)

    def close(self) -> None:
        self._listener.close()
        for api in (*self._requests, *self._answers):
            self.let_go(api)

    def _accept(self) -> None:
        while True:
            try:
                down, _ = self._listener.accept()
                up = socket.create_connection(self._upstream)
            except OSError:
                return
            asked: set[int] = set()

            def forward(frame: bytes, asked: set[int] = asked) -> bytes:
                (api,) = struct.unpack_from(">h", frame)
                asked.add(api)
                _wait(self._requests, api, self.held)
                return frame

            def backward(frame: bytes, asked: set[int] = asked) -> bytes:
                for api in list(self._answers):
                    if api in asked:
                        _wait(self._answers, api, self.answered)
                return frame

            for source, sink, gate in ((down, up, forward), (up, down, backward)):
                threading.Thread(target=pump, args=(source, sink, gate), daemon=True).start()


def _wait(gates: dict[int, threading.Event], api: int, held: threading.Event) -> None:
    gate = gates.get(api)
    if gate is not None:
        held.set()
        gate.wait()


def _open(gates: dict[int, threading.Event], api: int) -> None:
    gate = gates.pop(api, None)
    if gate is not None:
        gate.set()


def pump(source: socket.socket, sink: socket.socket, gate: Callable[[bytes], bytes | None]) -> None:
    """Passes on Kafka's frames (a size of four bytes, then as many): what the gate makes of each.

    None: the gate has dealt with it.
    """
    try:
        while True:
            size = struct.unpack(">i", _exactly(source, 4))[0]
            frame = gate(_exactly(source, size))
            if frame is not None:
                sink.sendall(struct.pack(">i", len(frame)) + frame)
    except OSError:
        for end in (source, sink):
            end.close()


def _exactly(source: socket.socket, count: int) -> bytes:
    """Raises ConnectionError: the other side has gone."""
    parts = []
    while count:
        part = source.recv(count)
        if not part:
            raise ConnectionError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _listener_on(cluster: Cluster, name: str, address: tuple[str, int]) -> socket.socket:
    for command in (
        ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore"],  # or others come here too
        ["ip", "addr", "add", f"{address[0]}/32", "dev", "lo"],
    ):
        subprocess.run(cluster.on(name, command), check=True)
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-c", _LISTEN, address[0], str(address[1]), str(theirs.fileno())]
    subprocess.run(cluster.on(name, words), pass_fds=[theirs.fileno()], check=True)
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptors[0])
