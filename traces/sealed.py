"""Documents that show damage: JSON objects whose last member is the digest of all before it.

What is read again is known to be what was written: a document by its own seal, and tables by the
digests that a document has of them (the manifest of recorded tables, a receipt of judgements, a
summary of the tables beside it). So one changed, missing or additional byte is noticed wherever it
is, and never used. SHA-256, as processors have instructions for it: it was the fastest of hashlib's
that nobody can forge (596 MB/s, BLAKE2b 368).
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from kraftcheck.osutil.files import read_bytes

T = TypeVar("T")

_BEFORE: Final = b'\n "digest": "'
_BEHIND: Final = b'"\n}\n'
_LENGTH: Final = len(_BEFORE) + 64 + len(_BEHIND)

DAMAGED: Final = "damaged, or of an older version: its digest is not that of what it holds"


class Unsealed(ValueError):
    """Bytes that are no document of ours as it was written."""

    def __init__(self) -> None:
        super().__init__(DAMAGED)


class DocumentError(Exception):
    """A document that must not be believed. The text is one line, with the file in it."""


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def sealed(document: bytes) -> bytes:
    """A JSON object with its seal."""
    body = document.rstrip()
    assert body[:1] == b"{" and body[-1:] == b"}", "only objects are sealed"
    body = body[:-1].rstrip()
    if body != b"{":
        body += b","
    return body + _seal(body)


def unsealed(data: bytes) -> bytes:
    """The JSON object without its seal. Raises Unsealed: the seal is not that of the rest."""
    body = data[:-_LENGTH]
    if not body or data[-_LENGTH:] != _seal(body):
        raise Unsealed
    return body.removesuffix(b",") + b"\n}\n"


def _seal(body: bytes) -> bytes:
    return _BEFORE + digest(body).encode() + _BEHIND


def read_document(path: Path, of: type[T], what: str, version: int) -> T:
    """A sealed document whose field `<what>_version` must be `version`.

    Raises FileNotFoundError; DocumentError: it cannot be read, is damaged, or of another version.
    """
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror}") from None
    try:
        # Asked first: what another version wrote has another seal, or none.
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get(f"{what}_version")
        said = None if found is None else msgspec.json.decode(found)
        if said == version:
            return msgspec.json.decode(unsealed(data), type=of)
    except Unsealed as error:
        raise DocumentError(f"{path}: {error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"{path}: damaged: {str(error)[:200]}") from None
    raise DocumentError(f"{path}: {what} version {said!s:.40}, this kraftcheck reads {version}")
