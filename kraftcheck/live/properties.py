"""Properties of clients, as a user gives them: key=value, or files of such lines.

They are passed on as they are (TLS, SASL, timeouts), but for those that say what is promised and
have options of their own. Java's own names are refused with those that librdkafka has for them.
What may be a secret is not written into recordings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kraftcheck.osutil.files import read_text

OWN = {
    "bootstrap.servers": "--bootstrap",
    "acks": "--acks",
    "enable.idempotence": "--idempotent",
    "retries": "--retries",
    "transactional.id": "--workload transactions",
    "group.id": "--workload groups",
    "isolation.level": "nothing: consumers read what is committed",
    "auto.offset.reset": "nothing: consumers begin where the recording does",
    "enable.auto.commit": "nothing: consumers commit by themselves",
}
"""Properties that the judgement rests on, and what says them instead."""
JAVA = {
    "ssl.truststore.location": "ssl.ca.location, a PEM file",
    "ssl.keystore.location": "ssl.certificate.location and ssl.key.location, PEM files",
    "sasl.jaas.config": "sasl.username and sasl.password",
}
SECRET = ("password", "secret", "token", "jaas", "key.pem", "ssl.key")


class PropertyError(Exception):
    """A property that cannot be used. The text is one line."""


def properties(given: Iterable[str], files: Iterable[Path]) -> dict[str, str]:
    """Of files, then of what was given by itself. Raises PropertyError."""
    found: dict[str, str] = {}
    for path in files:
        try:
            lines = read_text(path).splitlines()
        except OSError as error:
            raise PropertyError(f"{path}: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            if line.strip() and line.strip()[0] not in "#!":
                found |= _property(line, f"{path}:{number}")
    for word in given:
        found |= _property(word, f"--config {word.partition('=')[0]}")
    return found


def _property(text: str, where: str) -> dict[str, str]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise PropertyError(f"{where}: not of the form key=value")
    if key in OWN:
        raise PropertyError(f"{where}: {key} is said by {OWN[key]}")
    if key in JAVA:
        raise PropertyError(f"{where}: {key} is Java's; say {JAVA[key]}")
    return {key: value}


def without_secrets(given: Mapping[str, str]) -> dict[str, str]:
    """As they may be written down."""
    return {k: "(secret)" if any(s in k for s in SECRET) else v for k, v in given.items()}
