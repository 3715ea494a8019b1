"""Topics as they are asked for: names, settings, and what of them is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kraftcheck.reference.cluster.topics import DEFAULT, NewTopic, TopicError
from kraftcheck.serve.partition import ServedTopic
from kraftcheck.serve.world import INTERNAL, ServedWorld

SETTINGS: Final = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}
"""Of a topic, with Kafka's defaults."""
FIXED: Final = ("cleanup.policy", "compression.type", "message.timestamp.type")
"""Those that would have to change what is stored: refused where they say something else."""
NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_TOPIC: Final = ("do", "name", "partitions", "replicas", "assignments", "configs")
"""What a command that makes a topic says, beside settings."""
_NAME_WORDS: Final = "a topic's name has 1 to 249 of letters, digits, '.', '_' and '-'"


def is_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None and name not in (".", "..")


def created(world: ServedWorld, said: Mapping[str, Any]) -> str:
    """Make a topic on command; return what is wrong with it, or "".

    The command has `name`, and, unless they are the defaults, `partitions`, `replicas`, and
    settings, with `_` for `.` in their names.
    """
    given = {key: said[key] for key in said if key not in _TOPIC}
    named = {key.replace("_", "."): str(value) for key, value in given.items()}
    for key in ("partitions", "replicas"):
        if not re.fullmatch(r"-?\d+", str(said.get(key, DEFAULT))):
            return f"create: {key} = {said[key]!r} is no number"
    configs, manual = said.get("configs", {}), said.get("assignments", ())
    if not isinstance(configs, Mapping):
        return f"create: configs = {configs!r} are no names with values"
    lists = isinstance(manual, list | tuple) and all(isinstance(each, list) for each in manual)
    if not lists:
        return f"create: assignments = {manual!r} are no lists of brokers"
    try:
        made(world, {**said, "configs": named | {**configs}})
    except TopicError as error:
        return str(error)
    return ""


def made(world: ServedWorld, said: Mapping[str, Any]) -> ServedTopic:
    """Raises TopicError."""
    return world.make(*asked_for(world, said))


def asked_for(world: ServedWorld, said: Mapping[str, Any]) -> tuple[NewTopic, dict[str, str]]:
    """Raises TopicError for what Kafka refuses, and for settings that would not be kept."""
    name, setup = str(said["name"]), world.setup
    if not is_name(name) or name in INTERNAL:
        raise TopicError("INVALID_TOPIC_EXCEPTION", _NAME_WORDS)
    settings = {key: value for key, value in said.get("configs", {}).items() if value is not None}
    checked(settings)
    least = settings.get("min.insync.replicas", str(setup.min_insync_replicas))
    manual = tuple(tuple(each) for each in said.get("assignments", ()))
    # From a command line they are text.
    partitions, replicas = (int(said.get(key, DEFAULT)) for key in ("partitions", "replicas"))
    if not manual:
        partitions = setup.partitions if partitions == DEFAULT else partitions
        replicas = min(3, len(setup.brokers)) if replicas == DEFAULT else replicas
    if not settings.get("min.insync.replicas"):
        # By default no more is asked for than there is.
        have = len(manual[0]) if manual else max(1, replicas)
        least = str(min(int(least), have))
    wanted = NewTopic(
        name=name,
        partitions=partitions,
        replication_factor=replicas,
        assignments=manual,
        min_insync_replicas=int(least),
    )
    return wanted, settings


def checked(settings: Mapping[str, str]) -> None:
    """Raises TopicError for what is not known, would not be kept, or is no number."""
    for key, value in settings.items():
        if key not in SETTINGS:
            raise TopicError("INVALID_CONFIG", f"{key} is not known here")
        if key in FIXED and value != SETTINGS[key]:
            raise TopicError("INVALID_CONFIG", f"{key} = {value} is not served")
    least = settings.get("min.insync.replicas", "1")
    largest = settings.get("max.message.bytes", "0")
    if not least.isdecimal() or int(least) < 1 or not largest.isdecimal():
        raise TopicError("INVALID_CONFIG", "no number of this kind")
