"""Constants that TLC's models have and no run by chance draws (reference/sim/asked_by_models.json).

    python -m tests.specs.asked_by_models       # writes it

Whoever writes a model of a protocol says with its constants what is worth asking: a log that no
voter was formatted with, members with names of their own. Of the models of the manifest, those of
bugs left out, each that has a value that runs do not draw asks for it; the first of those that ask
for the same. As few of its other constants are asked for beside as there must be for it to go with
what else runs draw.

What bounds a model is nothing to ask for: constants that are called `Max...`, and nodes or members
that are some of those that runs draw. What cannot be read without the modules, `Replicas <- Three`,
is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS, folder_of
from kraftcheck.reference.sim import asked_by_models
from kraftcheck.reference.sim.asked_by_models import DATA
from kraftcheck.specs import SPECS
from kraftcheck.traces.counterexamples.readings import reading_of
from kraftcheck.traces.steps.translation import constant_name
from tla_utils import ToolError
from tla_utils.config import cfg_text
from tla_utils.manifest import read_manifest
from tla_utils.settings import constants_of

WRITTEN: Final = Path(asked_by_models.__file__).with_name(DATA)
"""Of a line, with its end."""
_NAMED = re.compile(r"\b[a-z]+(\d+)\b")


def asked(protocol: Protocol) -> list[dict[str, Any]]:
    """Sets of constants, in the order of the manifest; none leaves a run that is refused."""
    world = protocol.world
    assert world is not None, "asked of protocols that have one"
    found: dict[str, dict[str, Any]] = {}
    for given in _models(protocol):
        rare = {
            name: value
            for name, value in given.items()
            if not any(_is_within(value, drawn) for drawn in world.constants[name])
        }
        key = repr(sorted(rare.items()))
        if rare and key not in found:
            fits = next((each for each in _with(rare, given) if _fits(protocol, each)), None)
            found |= {key: fits} if fits else {}
    return [*found.values()]


def _with(rare: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """With none of the others, with one, and so on."""
    others = [name for name in given if name not in rare]
    for size in range(len(others) + 1):
        for beside in combinations(others, size):
            yield {name: value for name, value in given.items() if name in rare or name in beside}


def _is_within(value: Any, drawn: Any) -> bool:
    if isinstance(value, tuple) and value:
        return {*value} <= {*drawn}
    return bool(value == drawn)


def _models(protocol: Protocol) -> Iterator[dict[str, Any]]:
    world, reading = protocol.world, reading_of(protocol.name)
    assert world is not None
    path = Path(protocol.modules or SPECS) / "models.toml"
    for model in read_manifest(path).models.values():
        folder = Path() if protocol.modules else folder_of(protocol.name)
        if model.bug or Path(model.folder) != folder:
            continue
        texts = constants_of(cfg_text(model.config))
        try:
            given = (
                msgspec.structs.asdict(reading.constants(texts))
                if reading
                else _read(protocol, texts)
            )
        except ToolError:
            continue
        yield {
            name: value
            for name, value in given.items()
            if name in world.constants and not name.startswith("max_")
        }


def _read(protocol: Protocol, texts: Mapping[str, str]) -> dict[str, Any]:
    """What can be read of them: numbers, truths, and sets of names that end with a number."""
    values = {}
    for each in msgspec.structs.fields(protocol.constants):
        text = _NAMED.sub(r"\1", texts.get(constant_name(each.name), ""))
        for spec, own in (("{", "["), ("}", "]"), ("TRUE", "true"), ("FALSE", "false")):
            text = text.replace(spec, own)
        try:
            values[each.name] = msgspec.json.decode(text, type=each.type)
        except msgspec.MsgspecError:
            continue
    return values


def _fits(protocol: Protocol, own: Mapping[str, Any]) -> bool:
    """Whether it goes with all that runs draw."""
    world = protocol.world
    assert world is not None
    choices = [[own[name]] if name in own else values for name, values in world.constants.items()]
    for values in product(*choices):
        try:
            protocol.constants(**dict(zip(world.constants, values, strict=True)))
        except AssertionError:
            return False
    return True


def written() -> str:
    """The data, from the models."""
    found = {each.name: asked(each) for each in PROTOCOLS if each.by_chance}
    listed = []
    for name, sets in found.items():
        if sets:
            inner = ",\n".join(f"    {json.dumps(own)}" for own in sets)
            listed.append(f'  "{name}": [\n{inner}\n  ]')
    return "{\n" + ",\n".join(listed) + "\n}\n"


if __name__ == "__main__":
    WRITTEN.write_text(written(), encoding="utf-8")
