"""Which of Kafka's classes are driven, and what drives those of a protocol."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.artifacts import ArtifactError
from kraftcheck.kafka.live.witness.host import WitnessError
from kraftcheck.kafka.live.witness.jars import DEFAULT, check_version
from kraftcheck.reference.kit.protocol import Protocol, Witness
from kraftcheck.reference.protocols import CLUSTER, PROTOCOLS
from kraftcheck.traces.cover.models import Graph, read_covers, select
from kraftcheck.traces.foreign.profiles import (
    Part,
    Profile,
    departing,
    names,
    profile_of,
    read_profile,
)

SPECS_ALONE = "specs"
"""In place of a profile's name."""

T = TypeVar("T")


class Composed(NamedTuple):
    """A composition whose parts' nodes are Kafka's."""

    name: str
    alike: str
    """The nodes of which runs have several."""
    witness: Witness


CLUSTER_OF_KAFKA: Final = Composed(
    CLUSTER,
    "brokers",
    Witness(
        "KafkaRaftClient, on each the controller's managers, and a partition's brokers",
        fewest=2,
        most=5,
        usual=3,
    ),
)


class Kafka(NamedTuple):
    """Which classes are driven."""

    version: str
    jars: Path | None
    """A folder of one's own, or None."""
    profile: str
    """A name, or empty for that of the version."""
    files: bool
    """Kafka's real log, in files, and not the one of its tests."""

    def allowed(self, *protocols: str) -> Profile | None:
        """What else is allowed in steps of these protocols, if anything is.

        Raises BadInput: no such version, or no profile for it; ToolError: none of this name.
        """
        tried(lambda: check_version(self.version))
        if self.profile == SPECS_ALONE:
            return None
        if self.profile:
            return read_profile(self.profile)
        parts: list[Part] = []
        named: dict[str, None] = {}
        for protocol in protocols:
            found = profile_of(self.version, protocol)
            if found is None and protocol not in departing():
                continue
            if found is None:
                known = ", ".join([*names(), SPECS_ALONE])
                raise BadInput(f"no profile for Kafka {self.version}: say --as with one of {known}")
            parts += found.for_protocol(protocol).parts
            named[found.name] = None
        return Profile(" and ".join(named), tuple(parts)) if parts else None

    @property
    def options(self) -> list[str]:
        """Those of a verb which drives the same."""
        said = [("--kafka", self.version if self.version != DEFAULT else "")]
        said += [("--jars", str(self.jars or "")), ("--as", self.profile)]
        said += [("--log", "" if self.files else "memory")]
        return [word for option, value in said if value for word in (option, value)]

    def producer(self, classes: str) -> str:
        """What took the steps of a trace, in words."""
        own = f", first {self.jars}" if self.jars else ""
        return f"{classes} of Apache Kafka {self.version}{own}"


def tried(work: Callable[[], T]) -> T:
    """What the work returns. Raises BadInput: Kafka's classes cannot be had, or not be driven."""
    try:
        return work()
    except (ArtifactError, WitnessError) as error:
        raise BadInput(str(error)) from None


@cache
def methods_of(protocol: str) -> dict[str, str]:
    """Kafka's method that does what an action of the protocol's spec says, by action."""
    text = (files(__package__) / "methods.toml").read_text("utf-8")
    found: dict[str, str] = tomllib.loads(text)[protocol]
    return found


def witnessed() -> dict[str, Protocol | Composed]:
    """Give the protocols whose steps classes of Kafka take, by name.

    Those driven under another are left out; what is composed of them is there.
    """
    alone = {p.name: p for p in PROTOCOLS if p.witness is not None and not p.witness.under}
    return {**alone, CLUSTER_OF_KAFKA.name: CLUSTER_OF_KAFKA}


def driver(protocol: str, what: str) -> Any:
    """The module of this package that drives the classes which take a protocol's steps.

    what: that asks for it. Raises BadInput: there are none.
    """
    known = witnessed()
    [found] = [each.witness for each in PROTOCOLS if each.name == protocol] or [None]
    protocol = (found and found.under) or protocol
    if protocol not in known:
        raise BadInput(f"{what}; a witness has {', '.join(known)} only")
    return import_module(f"{__package__}.{protocol}")


def given_options(said: Sequence[str]) -> dict[str, Any]:
    """OPTION=VALUE, each value as JSON or else a text. Raises BadInput: one is nothing of that."""
    found: dict[str, Any] = {}
    for each in said:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise BadInput(f"--option {each!r:.60}: write NAME=VALUE")
        try:
            found[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            found[name] = value
    return found


def graphs(specs: Path, names: Sequence[str], tiers: Sequence[str]) -> tuple[Any, Sequence[Graph]]:
    """What drives the classes, and the graphs that it is to take them through.

    Raises BadInput: no graph, or none that is for Kafka's classes. ToolError: there is no such one.
    """
    chosen = select(read_covers(specs), names, tiers)
    drivers = [driver(m.protocol, f"{m.name}: a graph of a {m.protocol}") for m in chosen]
    if not chosen:
        raise BadInput("no graph: name one, or a --tier")
    for model, each in zip(chosen, drivers, strict=True):
        if not hasattr(each, "cover"):
            raise BadInput(f"{model.name}: Kafka is taken through no graph of a {model.protocol}")
    if any(each is not drivers[0] for each in drivers):
        raise BadInput("graphs of several protocols: name those of one")
    return drivers[0], chosen
