"""One broker, asked question by question: kafka-python's messages on a socket of our own.

A client library asks whom it holds for the leader, tries again, and hides who said what. Here it
matters which broker answered, and that it is asked as it is, stale or not. So only the library's
encoding is used (`kafka.protocol`, which does no I/O).
"""

from __future__ import annotations

import socket
from typing import Any, Final

from kafka.errors import KafkaError
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.parser import KafkaProtocol

CHUNK: Final = 65_536


class NoAnswer(Exception):
    """The broker did not answer in time, or not in a way that can be read. One line."""


class Broker:
    """Connects when it is first asked, and again after every failure.

    timeout: seconds that one answer may take.
    """

    def __init__(self, host: str, port: int, timeout: float = 1.0) -> None:
        self._address = (host, port)
        self._timeout = timeout
        self._socket: socket.socket | None = None
        self._protocol: Any = None
        self._versions: dict[int, tuple[int, int]] = {}

    def version(self, request: Any, at_most: int) -> int | None:
        """The newest version of a request, up to one, that both sides know; None: there is none.

        Raises NoAnswer: the broker was not asked yet, and does not say.
        """
        if self._socket is None:
            self._connect()
        low, high = self._versions.get(request.API_KEY, (0, -1))
        best = min(high, at_most, request.max_version)
        return best if best >= max(low, request.min_version) else None

    def ask(self, request: Any, version: int) -> Any:
        """Raises NoAnswer."""
        if self._socket is None:
            self._connect()
        return self._asked(request, version)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _connect(self) -> None:
        try:
            self._socket = socket.create_connection(self._address, self._timeout)
        except OSError as error:
            raise NoAnswer(error.strerror or "timed out") from None
        self._socket.settimeout(self._timeout)
        self._protocol = KafkaProtocol(client_id="kraftcheck")
        known = self._asked(ApiVersionsRequest(), 0).api_keys
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in known}

    def _asked(self, request: Any, version: int) -> Any:
        assert self._socket is not None
        request.API_VERSION = version
        try:
            self._protocol.send_request(request)
            self._socket.sendall(self._protocol.send_bytes())
            while True:
                data = self._socket.recv(CHUNK)
                if not data:
                    raise NoAnswer("the connection was closed")
                for _, response in self._protocol.receive_bytes(data):
                    return response
        except OSError as error:
            self.close()
            raise NoAnswer(error.strerror or "timed out") from None
        except (KafkaError, NoAnswer) as error:
            self.close()
            raise NoAnswer(" ".join(str(error).split())) from None
