"""Which of the known bugs are meant, and in which scenario each is met."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kraftcheck.exits import BadInput
from kraftcheck.osutil.commands import command
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import CATALOG, OF_STORAGE, bug, replayable
from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.protocols import CLUSTER, parts_of
from kraftcheck.reference.steered.scripts import MACHINES
from kraftcheck.specs import SPECS
from tla_utils import Manifest, Model, read_manifest


def selected(ids: Sequence[str]) -> list[Bug]:
    """The bugs with these ids, each once; without any, all that can be replayed.

    Raises UnknownBug; OutOfScope for one that cannot be replayed.
    """
    if not ids:
        return [each for each in CATALOG if each.in_scope]
    found = [replayable(id) for id in dict.fromkeys(bug(id).id for id in ids)]
    for each in found:
        if each in OF_STORAGE:
            look = command("storage", "crash", "--bug", each.id)
            raise BadInput(f"{each.id} is a bug of the storage engine: {look}")
    return found


def manifest_of(*names: str) -> Manifest:
    """The models of these protocols, which lie together. Raises ToolError: they cannot be read."""
    folders = {protocol.modules for name in names for protocol in parts_of(name)}
    if len(folders) > 1:
        raise BadInput(f"the models of {' and '.join(names)} lie apart: ask of one at a time")
    return _read(Path((folders or {""}).pop() or SPECS) / "models.toml")


# Every rule of a protocol asks for it, and a manifest with all that it includes takes a while.
_read = cache(read_manifest)


def models_of(manifest: Manifest, bug: str) -> list[Model]:
    """The models that are to show a bug."""
    return [
        model
        for model in manifest.models.values()
        if model.bug == bug and model.expect == "violated"
    ]


def without_overlay(entry: Bug) -> str:
    """Why the specs do not have the bug; empty if they do."""
    return entry.no_overlay or ("a configuration, nothing is replaced" * entry.is_control)


def scenario_of(entry: Bug) -> str | None:
    """The scenario of the bug's own protocol, or None where there is none yet.

    A producer's rules are met where it has several partitions.
    """
    if entry.base is ProducerRules:
        return CLUSTER
    return entry.protocol if entry.protocol in MACHINES else None


def is_asked_in(entry: Bug, scenario: str) -> bool:
    """Whether runs of the scenario are taken by the protocol whose rules the bug replaces."""
    return entry.protocol in {protocol.name for protocol in parts_of(scenario)}
