"""Messages are read and written as kio reads and writes them, in every version served."""

from __future__ import annotations

import importlib
import io
from random import Random
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from kraftcheck.kafka.serve import codec
from kraftcheck.kafka.serve.apis import SERVED

MESSAGES = [f"{name}{kind}" for name in SERVED for kind in ("Request", "Response")]
SAMPLES = 4
ERROR_CODES = (0, 1, 3, 6, 35, 87)


def made(random: Random, fields: Any, version: int) -> codec.Message:
    """Any message, as far as kio can hold it: it knows error codes, times and durations."""
    return {
        field.name: value(random, field, field.type, version)
        for field in fields
        if version in field.versions
    }


def value(random: Random, field: Any, kind: str, version: int) -> Any:
    if version in field.nullable and random.random() < 0.3:
        return None
    if kind.startswith("[]"):
        of = field._replace(nullable=codec.Versions(0, -1))
        return [value(random, of, kind[2:], version) for _ in range(random.randrange(4))]
    if field.name.endswith("error_code"):
        return random.choice(ERROR_CODES)
    match kind:
        case "bool":
            return random.random() < 0.5
        case "int8" | "int16" | "uint16" | "int32" | "uint32":
            return random.randrange(100)
        case "int64":
            return random.choice((0, 1, 1 << 33, random.randrange(1 << 40)))
        case "float64":
            return random.random()
        case "uuid":
            return random.randbytes(16)
        case "string":
            return "".join(random.choices("aZ0.-ßł€", k=random.choice((0, 3, 130))))
        case "bytes" | "records":
            return random.randbytes(random.choice((0, 1, 200)))
    return made(random, field.fields, version)


def of_kio(name: str, version: int) -> Any:
    kind = "request" if name.endswith("Request") else "response"
    stem = codec.snake(name).removesuffix(f"_{kind}")
    return getattr(importlib.import_module(f"kio.schema.{stem}.v{version}.{kind}"), name)


@pytest.mark.parametrize("name", MESSAGES)
def test_bytes_are_those_of_kio(name: str) -> None:
    said = codec.description(name)
    for version in range(said.valid.first, said.valid.last + 1):
        entity = of_kio(name, version)
        read, write = entity_reader(entity), entity_writer(entity)
        for sample in range(SAMPLES):
            message = made(Random(f"{name}/{version}/{sample}"), said.fields, version)
            data = codec.encoded(name, version, message)
            theirs, size = read(data, 0)
            assert size == len(data)
            out = io.BytesIO()
            write(out, theirs)
            assert out.getvalue() == data
            ours, end = codec.reader(name, version)(data, 0)
            assert end == len(data)
            assert codec.encoded(name, version, ours) == data
            assert {key: ours[key] for key in message} == message


@pytest.mark.parametrize("name", MESSAGES)
def test_bytes_that_end_too_early_are_malformed(name: str) -> None:
    said = codec.description(name)
    version = said.valid.last
    message = made(Random(name), said.fields, version)
    data = codec.encoded(name, version, message)
    for end in range(len(data)):
        with pytest.raises(codec.Malformed):
            codec.reader(name, version)(data[:end], 0)


def test_an_absurd_count_is_malformed() -> None:
    read = codec.reader("MetadataRequest", 4)
    with pytest.raises(codec.Malformed):
        read(b"\x7f\xff\xff\xff" + bytes(20), 0)


def test_unknown_tags_are_skipped() -> None:
    message = {"client_software_name": "a", "client_software_version": "b"}
    data = codec.encoded("ApiVersionsRequest", 3, message)
    strange = data[:-1] + b"\x01\x63\x03abc"
    assert codec.reader("ApiVersionsRequest", 3)(strange, 0) == (message, len(strange))


def test_a_field_that_no_version_has_is_refused() -> None:
    with pytest.raises(ValueError, match="thorttle"):
        codec.encoded("FetchResponse", 12, {"thorttle_time_ms": 1})
