"""Settings of topics and brokers: told, and changed where that has an effect, or needs none.

Kafka's ConfigHelper and ConfigurationControlManager.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.requests import Request, Serve
from kraftcheck.kafka.serve.topics import SETTINGS, checked
from kraftcheck.kafka.serve.world import INTERNAL
from kraftcheck.reference.cluster.topics import TopicError

TOPIC, BROKER, LOGGER, METRICS = 2, 4, 8, 16
SET, DELETE = 0, 1
_DEFAULT, _OF_TOPIC, _OF_BROKER = 5, 1, 4
_BOOLEAN, _STRING, _INT, _LONG, _LIST = 1, 2, 3, 5, 7
_TYPES: Final = {
    "advertised.listeners": _LIST,
    "auto.create.topics.enable": _BOOLEAN,
    "cleanup.policy": _LIST,
    "compression.type": _STRING,
    "max.message.bytes": _INT,
    "message.timestamp.type": _STRING,
    "min.insync.replicas": _INT,
    "num.partitions": _INT,
    "retention.bytes": _LONG,
    "retention.ms": _LONG,
    "segment.bytes": _INT,
    "segment.ms": _LONG,
    "unclean.leader.election.enable": _BOOLEAN,
}
"""DescribeConfigsResponse.ConfigType; what they are to Kafka (TopicConfig, LogConfig)."""
LASTING = ("min.insync.replicas", "unclean.leader.election.enable")
"""What the reference takes for given while a partition lives."""


class Settings:
    def __init__(self, core: Core) -> None:
        self._world = core.world
        self._setup = core.setup
        self.served: dict[str, Serve] = {
            "DescribeConfigs": self._describe_configs,
            "IncrementalAlterConfigs": self._alter_configs,
            "AlterConfigs": self._replace_configs,
            "ListConfigResources": self._list_resources,
        }

    def _list_resources(self, request: Request) -> Message:
        """KIP-1142. Version 0 asks for subscriptions to metrics, of which there are none."""
        kinds = request.body.get("resource_types", [METRICS]) or [TOPIC, BROKER, LOGGER]
        named = {
            TOPIC: list(self._world.topics),
            BROKER: [str(broker) for broker in self._setup.brokers],
            LOGGER: [str(broker) for broker in self._setup.brokers],
        }
        return {
            "config_resources": [
                {"resource_name": name, "resource_type": kind}
                for kind in kinds
                for name in named.get(kind, ())
            ]
        }

    def _describe_configs(self, request: Request) -> Message:
        return {"results": [self._configs(each) for each in request.body["resources"]]}

    def _configs(self, asked: Message) -> Message:
        kind, name = asked["resource_type"], asked["resource_name"]
        told = {"resource_type": kind, "resource_name": name, "error_message": None, "configs": []}
        topic = self._world.topics.get(name)
        if kind == TOPIC and topic is not None:
            known = {k: (topic.configs.get(k, v), k in topic.configs) for k, v in self.settings()}
            source = _OF_TOPIC
        elif kind == BROKER and name in ("", *map(str, self._setup.brokers)):
            known = {k: (v, True) for k, v in self._of_brokers(name).items()}
            source = _OF_BROKER
        else:
            wrong = "UNKNOWN_TOPIC_OR_PARTITION" if kind == TOPIC else "INVALID_REQUEST"
            return told | {"error_code": ERRORS[wrong], "error_message": f"no {name!r}"}
        keys = asked["configuration_keys"]
        return told | {
            "configs": [
                {
                    "name": key,
                    "value": value,
                    "read_only": kind == BROKER,
                    "config_source": source if own else _DEFAULT,
                    "config_type": _TYPES[key],
                    "documentation": None,
                }
                for key, (value, own) in known.items()
                if not keys or key in keys
            ]
        }

    def settings(self) -> Iterable[tuple[str, str]]:
        least = {"min.insync.replicas": str(self._setup.min_insync_replicas)}
        return (SETTINGS | least).items()

    def _of_brokers(self, name: str) -> dict[str, str]:
        """name: of one of them; of all, if it is empty."""
        own = {}
        if name:
            at = f"{self._setup.host}:{self._setup.ports[int(name)]}"
            own["advertised.listeners"] = f"CLIENTS://{at}"
        return own | {
            "auto.create.topics.enable": str(self._setup.auto_create).lower(),
            "min.insync.replicas": str(self._setup.min_insync_replicas),
            "num.partitions": str(self._setup.partitions),
        }

    # --- Changes

    def _alter_configs(self, request: Request) -> Message:
        return self._altered(request, piecewise=True)

    def _replace_configs(self, request: Request) -> Message:
        """The older form (KIP-133)."""
        return self._altered(request, piecewise=False)

    def _altered(self, request: Request, piecewise: bool) -> Message:
        told = []
        for asked in request.body["resources"]:
            named = {key: asked[key] for key in ("resource_type", "resource_name")}
            answer: Message = {**named, "error_message": None}
            told.append(answer)
            try:
                self._alter(asked, request.body["validate_only"], piecewise)
            except TopicError as error:
                answer |= {"error_code": ERRORS[error.code], "error_message": str(error)}
        return {"responses": told}

    def _alter(self, asked: Message, only: bool, piecewise: bool) -> None:
        """piecewise: what is not named stays; else it is its default. Raises TopicError."""
        name = asked["resource_name"]
        topic = self._world.topics.get(name)
        if asked["resource_type"] != TOPIC:
            raise TopicError("INVALID_REQUEST", "settings of topics can be changed, no others")
        if topic is None or topic.name in INTERNAL:
            raise TopicError("UNKNOWN_TOPIC_OR_PARTITION", f"no topic {name!r}")
        after = dict(topic.configs) if piecewise else {}
        for each in asked["configs"]:
            key, operation = each["name"], each.get("config_operation", SET)
            if operation == SET and each["value"] is not None:
                after[key] = each["value"]
            elif operation == DELETE:
                after.pop(key, None)
            elif operation == SET:
                raise TopicError("INVALID_REQUEST", f"Null value not supported for : {key}")
            else:
                raise TopicError("INVALID_CONFIG", f"{key} is no list")
        checked(after)
        for key in LASTING:
            if after.get(key) != topic.configs.get(key):
                raise TopicError("INVALID_CONFIG", f"{key} stays as the topic was made")
        if not only:
            topic.configs = after
