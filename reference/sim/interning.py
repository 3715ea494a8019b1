"""One object for each row and each input that was ever seen, with its canonical bytes.

Equal by content is then the same by identity, which is what makes a step a look-up. The bytes are
the content as it was when it was first seen: whoever changes a value afterwards is found out by
encoding it again (L7).

What lives as long as a memo is out of sight of Python's garbage collector (`gc=False`): it would
search hundreds of thousands of objects for garbage, again and again, and find none.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

_encode = msgspec.msgpack.Encoder().encode


class KnownRow(msgspec.Struct, eq=False, gc=False):
    row: Any
    body: bytes
    number: int = -1
    """The id in the part that is being recorded, which `owner` marks."""
    owner: object = None
    name: bytes = b""
    """The digest of `body`, under which it is stored, once it was."""
    stored: Any = None
    """What whoever judges it in the same process has made of it."""

    @property
    def value(self) -> Any:
        return self.row

    def is_unchanged(self) -> bool:
        return _encode(self.row) == self.body


class KnownInput(msgspec.Struct, eq=False, gc=False):
    value: Any
    body: bytes
    kind: str
    """The name of its type."""
    number: int = -1
    owner: object = None
    name: bytes = b""
    stored: Any = None

    def is_unchanged(self) -> bool:
        return _encode(self.value) == self.body


class Interner:
    """Rows and inputs by type and content: two protocols may say something else in one word."""

    def __init__(self) -> None:
        self._rows: dict[tuple[type[Any], bytes], KnownRow] = {}
        self._inputs: dict[tuple[type[Any], bytes], KnownInput] = {}
        self._logs: dict[Any, Any] = {}

    def row(self, row: Any) -> KnownRow:
        """The one object for this row. Rows with equal logs have the same log."""
        body = _encode(row)
        key = type(row), body
        known = self._rows.get(key)
        if known is None:
            shared = row
            log = getattr(row, "log", None)
            if log is not None:
                same = self._logs.setdefault(log, log)
                shared = row if same is log else replace(row, log=same)
            known = self._rows[key] = KnownRow(shared, body)
        return known

    def input(self, value: Any) -> KnownInput:
        body = _encode(value)
        key = type(value), body
        known = self._inputs.get(key)
        if known is None:
            known = self._inputs[key] = KnownInput(value, body, type(value).__name__)
        return known
