"""How a trace tells which protocols it is of, and reads what they say: constants and inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from threading import Lock
from typing import Any, Final

import msgspec

from kraftcheck.reference.kit.fields import union
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import (
    CONSTANTS,
    PROTOCOLS,
    AnyConstants,
    RunConstants,
    components_of,
    extended_by,
    is_composed,
    protocol_of,
)
from kraftcheck.traces.schema import TraceError


def constants_text(constants: RunConstants) -> str:
    """As a trace has them."""
    return msgspec.json.encode(constants, order="sorted").decode()


_decode_constants: Final = msgspec.json.Decoder(union(CONSTANTS)).decode


def decode_constants(text: str) -> RunConstants:
    """Raises TraceError for what names no constants."""
    try:
        return _decode_constants(text)
    except (msgspec.MsgspecError, AssertionError) as error:
        hint = "; a protocol of your own needs --protocol" if "$.protocol" in str(error) else ""
        raise TraceError(f"constants {text!r}: {error}{hint}") from None


def decode_step_constants(text: str) -> AnyConstants:
    """The same for those of a step, which a cluster has none of."""
    found = decode_constants(text)
    if is_composed(found):
        raise TraceError(f"constants {text!r}: a cluster takes no steps, its components do")
    return found


def protocols_of(constants: RunConstants) -> tuple[Protocol, ...]:
    """Of each component of a run, each once."""
    return tuple(dict.fromkeys(protocol_of(each) for each in components_of(constants)))


def actions_of(texts: Iterable[str]) -> tuple[str, ...]:
    """All actions of the protocols that have these constants, each once."""
    protocols = [protocol for text in texts for protocol in protocols_of(decode_constants(text))]
    names = [a for protocol in protocols for kind in protocol.kinds for a in kind.actions]
    return tuple(dict.fromkeys(names))


def decoder_of_inputs(constants: RunConstants) -> Callable[[bytes], Any]:
    """What reads an input or a sent message of a run. It raises msgspec.MsgspecError for what is
    none.
    """
    return decoder_of(union(types_of_inputs(constants)))


def types_of_inputs(constants: RunConstants) -> tuple[type[Any], ...]:
    """Of inputs and of messages: those of a run's protocols, and of all that come with them."""
    return _types_beside(frozenset(map(_place, protocols_of(constants))))


def _place(protocol: Protocol) -> tuple[str, str]:
    """One that extends another stands alone: its messages may take the place of others'."""
    return protocol.modules, protocol.name if protocol.extends else ""


@cache
def _types_beside(places: frozenset[tuple[str, str]]) -> tuple[type[Any], ...]:
    named = [p for p in PROTOCOLS if _place(p) in places]
    extended = {name for protocol in named for name in extended_by(protocol)}
    beside = [protocol for protocol in named if protocol.name not in extended]
    types = [of for protocol in beside for kind in protocol.kinds for of in kind.inputs]
    types += [of for protocol in beside for of in protocol.messages]
    return tuple(dict.fromkeys(types))


_making: Final = Lock()


@cache
def decoder_of(of: Any) -> Callable[[bytes], Any]:
    """What reads a value of this type. It raises msgspec.MsgspecError for what is none.

    One at a time is made: msgspec (0.22, `StructInfo_Convert`) keeps what it learns of a type where
    other threads find it before it is whole, and whoever reads with that ends the process.
    """
    with _making:
        return msgspec.msgpack.Decoder(of).decode
