"""One object for each row and each input that was ever seen, with its canonical bytes.

Equal by content is then the same by identity, which is what makes a step a look-up. The bytes are
the content as it was when it was first seen: whoever changes a value afterwards is found out by
encoding it again (L7).
"""

from __future__ import annotations

import msgspec

from reference.core.messages import MESSAGES, Input
from reference.core.types import Row

_encode = msgspec.msgpack.Encoder().encode


class _Known:
    """What rows and inputs have in common."""

    __slots__ = ("body", "number", "owner")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.owner: object = None
        """The part that `number` belongs to."""
        self.number = -1


class KnownRow(_Known):
    __slots__ = ("row",)

    def __init__(self, row: Row, body: bytes) -> None:
        super().__init__(body)
        self.row = row

    def is_unchanged(self) -> bool:
        return _encode(self.row) == self.body


class KnownInput(_Known):
    __slots__ = ("destination", "kind", "value")

    def __init__(self, value: Input, body: bytes) -> None:
        super().__init__(body)
        self.value = value
        self.kind = type(value).__name__
        self.destination = value.destination if isinstance(value, MESSAGES) else -1

    def is_unchanged(self) -> bool:
        return _encode(self.value) == self.body


class Interner:
    """Rows and inputs by content."""

    def __init__(self) -> None:
        self._rows: dict[bytes, KnownRow] = {}
        self._inputs: dict[bytes, KnownInput] = {}

    def row(self, row: Row) -> KnownRow:
        body = _encode(row)
        known = self._rows.get(body)
        if known is None:
            known = self._rows[body] = KnownRow(row, body)
        return known

    def input(self, value: Input) -> KnownInput:
        body = _encode(value)
        known = self._inputs.get(body)
        if known is None:
            known = self._inputs[body] = KnownInput(value, body)
        return known
