"""`--protocol`: a protocol from a folder, known to all processes of a command, and looked at first.

What can be told from the two sides without running anything is told before anything runs, in one
line: a member that is missing, a name that is on one side only, a field of which no form is known.
"""

from __future__ import annotations

import os
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from kraftcheck.exits import BadInput

VARIABLE = "KRAFTCHECK_PROTOCOL"
"""As reference/protocols.py reads it: folders, separated as in PATH."""


def use(folders: Sequence[Path]) -> None:
    """Have these protocols known, here and in processes that are started later.

    Raises ProtocolError: one cannot be loaded, or has a name that is taken. BadInput: its two sides
    do not agree.
    """
    os.environ[VARIABLE] = os.pathsep.join(str(folder.absolute()) for folder in folders)
    from reference.protocols import PROTOCOLS

    for protocol in PROTOCOLS:
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
    structs = {of for kind in protocol.kinds for of in (kind.row, *kind.inputs)}
    for struct in sorted({protocol.constants, *protocol.messages, *structs}, key=str):
        yield from _fields(struct)
    for message in protocol.messages:
        if not {"source", "destination"} <= {*message.__struct_fields__}:
            yield f"the message {message.__name__} needs the fields source and destination"


def _operators(kind: Any, known: Any) -> Iterator[str]:
    """What the spec lacks of a kind of node, or has besides."""
    wanted = {f"Step_{label}": 3 for label in kind.labels}
    first, _, _ = kind.first_row.partition("(")
    wanted |= {first: int("(" in kind.first_row)} | ({kind.running: 1} if kind.running else {})
    for name, arity in wanted.items():
        if name not in known:
            yield f"{kind.module}.tla does not define {name}, which the kind {kind.name} needs"
        elif known[name].arity != arity:
            yield f"{name} of {kind.module}.tla is to take {arity} arguments"


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
    from traces.jobs.abstraction import constant_name

    return constant_name(field)
