"""The known bugs by id, declared beside their protocols, and the rules with one of them in."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from kraftcheck.reference.bugs.bug import BASES, Bug
from kraftcheck.reference.bugs.probing import Consulted, probed
from kraftcheck.reference.bugs.reading import MODULE, declared
from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.kit.protocol import Handlers, Protocol, Substitution, correct
from kraftcheck.reference.protocols import (
    PROTOCOLS,
    ProtocolError,
    asks,
    is_preset,
    package_of,
    protocol_of,
    raised,
)

OWN: Final = "OWN-"
"""What ids of substitutions begin with that are none of the known bugs."""
STORAGE: Final = "kraftcheck.reference.storage"
"""The engine has rules and bugs, and is no protocol."""


def _found(protocol: Protocol) -> list[Bug]:
    """Those that a protocol declares. Raises ProtocolError: they cannot be loaded."""
    try:
        return declared(package_of(protocol))
    except Exception as error:  # What others wrote may raise anything.
        raise raised(protocol, MODULE, error) from error


def _all() -> dict[str, Bug]:
    """Raises ProtocolError: two have one id."""
    found: dict[str, Bug] = {}
    whose = [(f"protocol {each.name}", _found(each)) for each in PROTOCOLS if not is_preset(each)]
    for where, bugs in (*whose, (STORAGE, declared(STORAGE))):
        for each in bugs:
            if each.id in found:
                raise ProtocolError(f"{where}: there is a bug {each.id} already: rename it")
            found[each.id] = each
    return found


def _order(id: str) -> tuple[int, str]:
    """Z109 comes after Z99."""
    return len(id), id


R = TypeVar("R")

_BY_ID = _all()
_SORTED = sorted(_BY_ID.values(), key=lambda each: _order(each.id))
_ENGINE: Final = STORAGE.rpartition(".")[2]
CATALOG: tuple[Bug, ...] = tuple(each for each in _SORTED if each.protocol != _ENGINE)
"""Every known bug of a protocol, by id."""
OF_STORAGE: tuple[Bug, ...] = tuple(each for each in _SORTED if each.protocol == _ENGINE)
"""Those of the storage engine; the specification of its orders knows some of them."""


class UnknownBug(ValueError):
    """There is no bug of this id. The message names the nearest ids."""


class OutOfScope(ValueError):
    """The bug is known and cannot be replayed yet. The message says why."""


def bugs_of(protocol: str) -> tuple[Bug, ...]:
    return tuple(each for each in (*CATALOG, *OF_STORAGE) if each.protocol == protocol)


def bug(id: str, protocol: str | None = None) -> Bug:
    """The bug of this id, in capitals or not; of this protocol, if one is said.

    Raises UnknownBug with the nearest ids.
    """
    found = _BY_ID.get(id.strip().upper())
    if found is None or protocol not in (None, found.protocol):
        if id.startswith(OWN):
            raise UnknownBug(f"runs with {id}, rules of somebody's own: name their file, --rules")
        known = CATALOG if protocol is None else bugs_of(protocol)
        of = "" if protocol is None else f" of the {protocol}"
        raise UnknownBug(f"no bug {id!r}{of}{nearest(id, {b.id: b.title for b in known})}")
    return found


def replayable(id: str, protocol: str | None = None) -> Bug:
    """As `bug`. Raises OutOfScope as well."""
    found = bug(id, protocol)
    if found.scope:
        raise OutOfScope(f"{found.id} cannot be replayed: it {found.scope}")
    return found


def replayable_in(id: str, protocol: Protocol) -> Bug:
    """As `replayable`. Raises UnknownBug too, where the protocol does not ask what it replaces."""
    return replayable(id, None if asks(protocol, bug(id).protocol) else protocol.name)


@contextmanager
def known(own: Bug) -> Iterator[None]:
    """Within it, `bug` knows one entry more: a substitution that is none of the known bugs."""
    assert own.id not in _BY_ID, own.id
    _BY_ID[own.id] = own
    try:
        yield
    finally:
        del _BY_ID[own.id]


def nearest(id: str, titles: Mapping[str, str]) -> str:
    """The ids that were perhaps meant, in words: those alike, and those of bugs with such a title.

    titles: of each known bug, by id.
    """
    wanted = id.strip()
    near = [f"Z{int(wanted[1:]):02d}"] if wanted[1:].isdecimal() else []
    near += difflib.get_close_matches(wanted.upper(), titles, n=3, cutoff=0.6)
    near += [each for each, title in titles.items() if wanted and wanted.lower() in title.lower()][
        :3
    ]
    known = list(dict.fromkeys(name for name in near if name in titles))
    if not known:
        ids = sorted(titles, key=_order)
        return f"; the known bugs are {ids[0]} to {ids[-1]}"
    return f"; did you mean {', '.join(known)}?"


# -- Rules and handlers with a bug in them


def handlers_for(
    bug_id: str | None, constants: Any, consulted: Consulted | None = None
) -> Handlers:
    """The handlers of a protocol under these constants, with this bug in them or in their rules."""
    return protocol_of(constants).handlers(constants, substitution(bug_id, constants, consulted))


def substitution(
    bug_id: str | None, constants: Any, consulted: Consulted | None = None
) -> Substitution:
    """What a bug puts in the place of rules and handlers that these constants' protocol asks.

    A protocol asks its own classes, and those of the protocols that it extends or asks, as they
    are or extended: a class that extends the replaced one then extends the replacement.

    Args:
        bug_id: None replaces nothing.
        constants: of the protocol.
        consulted: counts the answers, and how many are other ones than the correct class gives.

    Raises:
        UnknownBug: there is no such bug, or the protocol does not ask what it replaces.
        OutOfScope: the bug cannot be replayed.
    """
    if bug_id is None:
        return correct
    found = replayable_in(bug_id, protocol_of(constants))
    if found.base is None or found.replacement is None:
        return correct
    replaced, replacement = found.base, found.replacement
    if consulted is not None:
        replacement = probed(replacement, BASES[replaced].names, replaced, consulted)

    def substituted(base: type[Any]) -> type[Any]:
        if base is replaced:
            return replacement
        return joined(base, replacement) if issubclass(base, replaced) else base

    return substituted


def joined(base: type[Any], replacement: type[Any]) -> type[Any]:
    """`base`, which extends a replaced class, on top of the replacement."""
    return type(base.__name__, (base, replacement), {"__module__": base.__module__})


def producer_rules(bug_id: str | None) -> ProducerRules:
    """The rules of producers with this bug in them, or the correct ones."""
    found = None if bug_id is None else replayable(bug_id)
    if found is None or found.base is not ProducerRules or found.replacement is None:
        return ProducerRules()
    rules: ProducerRules = found.replacement()
    return rules


def rules_for(
    of: type[R], bug_id: str | None, constants: Any, consulted: Consulted | None = None
) -> R:
    """These rules with this bug in them, or the correct ones for None; probed if asked to be."""
    rules: R = substitution(bug_id, constants, consulted)(of)(constants)
    return rules
