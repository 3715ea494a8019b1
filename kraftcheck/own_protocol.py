"""Load a protocol from a folder, of `--protocol` or the environment.

All processes of a command know it, and look at it first.

What can be told from the two sides without running anything is told before anything runs, in one
line: a member that is missing, a name that is on one side only, a field of which no form is known.
"""

from __future__ import annotations

import os
import types
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.osutil.commands import PROTOCOLS, protocol_folders


def use(folders: Sequence[Path]) -> None:
    """Make these protocols known, here and in processes that are started later.

    If none is named here, those that the environment names.

    Raises ProtocolError: one cannot be loaded, or has a name that is taken. BadInput: its two sides
    do not agree.
    """
    if folders:
        os.environ[PROTOCOLS] = os.pathsep.join(str(folder.absolute()) for folder in folders)
    elif not protocol_folders():
        return
    from kraftcheck.reference import protocols

    for protocol in protocols.PROTOCOLS:
        if protocol.modules:
            for complaint in complaints(protocol):
                raise BadInput(f"protocol {protocol.name}: {complaint}")


def complaints(protocol: Any) -> Iterator[str]:
    """What is wrong with a protocol, as far as declarations and the outline of its modules tell."""
    from tla_utils import ToolError
    from tla_utils.overrides import read_modules

    folder = Path(protocol.modules)
    for kind in protocol.kinds:
        try:
            modules = read_modules([kind.module], [folder])
        except ToolError as error:
            yield f"{error}: the kind {kind.name} names it"
            return
        known = {name: d for module in modules.values() for name, d in module.definitions.items()}
        declared = {name for module in modules.values() for name in module.constants}
        yield from _operators(kind, known)
        for field in protocol.constants.__struct_fields__:
            if _constant(field) not in declared:
                yield f"{kind.module}.tla declares no constant {_constant(field)} for {field!r}"
        yield from _rows(kind, known)
    structs = {of for kind in protocol.kinds for of in (kind.row, *kind.inputs)}
    for struct in sorted({protocol.constants, *protocol.messages, *structs}, key=str):
        yield from _fields(struct)
    for message in protocol.messages:
        if not {"source", "destination"} <= {*message.__struct_fields__}:
            yield f"the message {message.__name__} needs the fields source and destination"
    if protocol.world is not None:
        yield from _world(protocol)


def _operators(kind: Any, known: Any) -> Iterator[str]:
    """What the spec lacks of a kind of node, or has besides."""
    wanted = {f"{kind.operators}{label}": 3 for label in kind.labels}
    first, _, _ = kind.first_row.partition("(")
    wanted |= {first: int("(" in kind.first_row)} | ({kind.running: 1} if kind.running else {})
    for name, arity in wanted.items():
        if name not in known:
            yield f"{kind.module}.tla does not define {name}, which the kind {kind.name} needs"
        elif known[name].arity != arity:
            yield f"{name} of {kind.module}.tla is to take {arity} arguments"


def _rows(kind: Any, known: Any) -> Iterator[str]:
    """Fields of rows that the spec never names.

    A message that differs is told by the step that sends it; a row that differs may have TLC refuse
    a whole frame.
    """
    from kraftcheck.reference.kit.fields import fields_of

    named = {field for definition in known.values() for field in definition.fields}
    for field in fields_of(kind.row):
        if field.spec_name not in named:
            near = get_close_matches(field.spec_name, named, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield (
                f"{kind.row.__name__}.{field.name}: {kind.module}.tla names no field "
                f"{field.spec_name}{hint}"
            )


def _world(protocol: Any) -> Iterator[str]:
    """Constants that cannot be drawn, and what their simplest ones already show of nodes."""
    fields, drawn = {*protocol.constants.__struct_fields__}, protocol.world.constants
    for name in sorted(fields ^ drawn.keys()):
        wrong = "has no values for" if name in fields else "has values for an unknown field"
        yield f"World.constants {wrong} {name!r}"
    if fields != drawn.keys():
        return
    for name in sorted(name for name, values in drawn.items() if not values):
        yield f"World.constants has no value of {name!r}"
        return
    simplest = {name: values[0] for name, values in drawn.items()}
    try:
        constants = msgspec.convert(simplest, protocol.constants)
        yield from _first_rows(protocol, constants)
    except msgspec.ValidationError as error:
        yield f"World.constants: {error}"
    except Exception as error:  # What others wrote may raise anything.
        yield f"its nodes under {simplest}: {type(error).__name__}: {error}"


def _first_rows(protocol: Any, constants: Any) -> Iterator[str]:
    for node in protocol.nodes(constants):
        kind = protocol.kind_of(constants, node)
        row = kind.initial(constants)
        if type(row) is not kind.row:
            yield f"node {node} begins as a {type(row).__name__}, not as a {kind.row.__name__}"
            return
        for input in protocol.world.local(constants, node, row):
            if type(input) not in kind.inputs or type(input) in protocol.messages:
                yield (
                    f"World.local has {type(input).__name__} for node {node}, which is no local "
                    f"input of the kind {kind.name}"
                )


def _fields(struct: type[msgspec.Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        for strange in _strange(field.type):
            yield (
                f"{struct.__name__}.{field.name} holds a {strange}, which has no form in a spec; "
                "there are int, bool, str, structs, and tuples of them (reference/kit/fields.py)"
            )


def _strange(annotation: Any) -> Iterable[str]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _strange(get_args(annotation)[0])
    if origin is Literal:
        return ()
    if origin is tuple or origin in (Union, types.UnionType):
        return [s for each in get_args(annotation) if each is not ... for s in _strange(each)]
    if isinstance(annotation, type) and issubclass(annotation, int | str | msgspec.Struct):
        return ()
    return (getattr(annotation, "__name__", str(annotation)),)


def _constant(field: str) -> str:
    from kraftcheck.traces.steps.translation import constant_name

    return constant_name(field)
