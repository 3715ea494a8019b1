"""Client libraries by name."""

from __future__ import annotations

from kraftcheck.kafka.live.confluent import Confluent
from kraftcheck.kafka.live.library import Library, LibraryError

LIBRARIES = ("confluent-kafka", "kafka-python", "java")


def load(name: str, api_version: str | None = None) -> Library:
    """A library by its name.

    api_version: of the brokers ("2.8"), for those that kafka-python cannot ask. Raises
    LibraryError.
    """
    if name not in LIBRARIES:
        raise LibraryError(f"no client {name!r}: there are {', '.join(LIBRARIES)}")
    if name == "kafka-python":
        try:
            from kraftcheck.kafka.live.kafka_python import KafkaPython
        except ImportError:
            raise LibraryError("kafka-python is not installed") from None
        return KafkaPython(_numbers(api_version) if api_version else None)
    if api_version is not None:
        raise LibraryError(f"{name} asks brokers itself: api-version is for kafka-python")
    if name == "java":
        from kraftcheck.kafka.live.java_client import Java

        return Java()
    return Confluent()


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts):
        raise LibraryError(f"api-version {version!r}: not of the form 2.8")
    return tuple(int(part) for part in parts)
