"""Documents that show damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftcheck.traces.sealed import DocumentError, Unsealed, read_document, sealed, unsealed

DOCUMENTS = [b"{}", b'{"a": 1}', b'{\n  "a": {"b": [1, 2]}\n}\n']


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_sealed_is_read_back(document: bytes) -> None:
    data = sealed(document)
    assert json.loads(unsealed(data)) == json.loads(document)
    whole = json.loads(data)
    assert len(whole.pop("digest")) == 64 and whole == json.loads(document)
    assert sealed(document) == data and sealed(unsealed(data)) == data


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_changed_byte_breaks_the_seal(document: bytes) -> None:
    data = sealed(document)
    for at in range(len(data)):
        for bit in range(8):
            with pytest.raises(Unsealed):
                unsealed(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        with pytest.raises(Unsealed):
            unsealed(data[:at])
    for damaged in (data + b"\n", b"\n" + data, data + data, document):
        with pytest.raises(Unsealed):
            unsealed(damaged)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"x_version": 2}', "damaged, or of an older version"),
        (sealed(b'{"x_version": 1}'), "x version 1, this kraftcheck reads 2"),
        (sealed(b'{"x_version": "2"}'), "x version 2, this kraftcheck reads 2"),
        (b"{}", "x version None, this kraftcheck reads 2"),
        (b"[]", "damaged: Expected `object`"),
        pytest.param(b"[" * 100_000, "damaged: ", id="deep"),
        (b"\xff", "damaged: "),
        (sealed(b'{"x_version": 2, "a": "no number"}'), "damaged: Expected `int`"),
    ],
)
def test_what_must_not_be_believed_is_one_line(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(DocumentError, match=said) as caught:
        read_document(path, dict[str, int], "x", 2)
    assert str(caught.value).startswith(f"{path}: ") and len(str(caught.value)) < 400


def test_a_document_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(FileNotFoundError):
        read_document(path, dict[str, int], "x", 2)
    path.write_bytes(sealed(b'{"x_version": 2, "a": 3}'))
    assert read_document(path, dict[str, int], "x", 2) == {"x_version": 2, "a": 3}
    with pytest.raises(DocumentError, match="only regular files are read"):
        read_document(tmp_path, dict[str, int], "x", 2)
