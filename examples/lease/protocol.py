"""A lease server, its clients, and clocks that may be wrong: the twin of Lease.tla."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kraftcheck.reference.kit.fields import Address, AtLeastOne, NodeOrNobody, SetOf
from kraftcheck.reference.kit.protocol import (
    Answered,
    Asked,
    ClientPromise,
    Handlers,
    NodeKind,
    Outcome,
    Property,
    Protocol,
    Substitution,
    World,
)
from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.traces.checkers.sequential import REFUSED, Model
from kraftcheck.traces.history import Operation

SERVER, NOBODY = 0, -1


class Constants(msgspec.Struct, frozen=True, tag="lease", tag_field="protocol"):
    clients: SetOf[int]
    ticks: AtLeastOne


class Server(msgspec.Struct, frozen=True):
    holder: NodeOrNobody = NOBODY
    token: int = 0
    left: int = 0
    written: int = 0


class Client(msgspec.Struct, frozen=True):
    token: int = 0
    left: int = 0


# -- Inputs: messages, and what comes to a node by itself


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class: `VoteRequest` is handled by `HandleVoteRequest`."""


class Message(Input, frozen=True):
    source: Address
    destination: Address


class AcquireRequest(Message, frozen=True):
    pass


class Granted(Message, frozen=True):
    token: int


class WriteRequest(Message, frozen=True):
    token: int


class WriteResponse(Message, frozen=True):
    token: int
    accepted: bool


class ServerTick(Input, frozen=True):
    pass


class ClientTick(Input, frozen=True):
    pass


class Acquire(Input, frozen=True):
    pass


class Write(Input, frozen=True):
    pass


# -- Rules and handlers


class LeaseRules:
    """The decisions, which bugs replace."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def may_lend(self, row: Server, m: AcquireRequest) -> bool:
        return row.left == 0 or row.holder == m.source

    def may_write(self, row: Server, m: WriteRequest) -> bool:
        return m.token >= row.written


def handlers(constants: Constants, of: Substitution) -> Handlers:
    """of: the class to use for one of `rules`: the correct one, or a bug's."""
    rules: LeaseRules = of(LeaseRules)(constants)

    def step(n: int, row: Any, m: Any) -> Outcome | None:
        match m:
            case AcquireRequest():
                if not rules.may_lend(row, m):
                    return Outcome(row, ignored="Taken")
                same = row.holder == m.source and row.left > 0
                token = row.token if same else row.token + 1
                lent = Server(m.source, token, constants.ticks, row.written)
                return Outcome(lent, (Granted(SERVER, m.source, token),))
            case WriteRequest():
                accepted = rules.may_write(row, m)
                after = msgspec.structs.replace(row, written=m.token) if accepted else row
                return Outcome(after, (WriteResponse(SERVER, m.source, m.token, accepted),))
            case Granted():
                if m.token > row.token:
                    return Outcome(Client(m.token, constants.ticks))
                return Outcome(row, ignored="Old")
            case WriteResponse():
                lost = not m.accepted and m.token == row.token
                return Outcome(Client(row.token, 0) if lost else row)
            case ServerTick() | ClientTick() if row.left > 0:
                return Outcome(msgspec.structs.replace(row, left=row.left - 1))
            case Acquire() if row.left == 0:
                return Outcome(row, (AcquireRequest(n, SERVER),))
            case Write() if row.left > 0:
                return Outcome(row, (WriteRequest(n, SERVER, row.token),))
        return None

    return step


def local(constants: Constants, node: int, row: Any) -> Iterable[Input]:
    """What may come to a node that is no message; what is disabled need not be left out."""
    return (ServerTick(),) if node == SERVER else (ClientTick(), Acquire(), Write())


# -- What clients are promised


class FencedWrites(Model):
    """The highest token of an accepted write: none below it is accepted afterwards."""

    name = "fenced-writes"
    verbs = ("write",)

    def initial(self) -> int:
        return 0

    def step(self, state: int, operation: Operation) -> Any:
        return operation.argument if operation.argument >= state else REFUSED


def client_events(
    constants: Constants, node: int, row: Any, input: Input, outcome: Outcome
) -> Iterable[Asked | Answered]:
    """The first write of each lease.

    A refused one says nothing: an earlier try may have gone through.
    """
    if isinstance(input, Write):
        yield Asked((node, row.token), "write", row.token)
    if isinstance(input, WriteResponse) and input.accepted:
        yield Answered((node, input.token))


# -- Properties


def tokens_are_given(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> str | None:
    wrong = [c for c in constants.clients if after[c].token > after[SERVER].token]
    return f"client {wrong[0]} has a token that was never given" if wrong else None


def written_rises(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> str | None:
    old, new = before[SERVER].written, after[SERVER].written
    return f"a write of token {new} was accepted after one of token {old}" if new < old else None


# -- What runs should come to now and then


sometimes = Conditions()


@sometimes(WriteRequest)
def late_write_arrives(before: Server, input: WriteRequest) -> bool:
    """A client writes under a lease after which another one was written under."""
    return input.token < before.written


@sometimes(AcquireRequest)
def lease_is_asked_for_while_it_is_lent(before: Server, input: AcquireRequest) -> bool:
    """A client asks for the lease that another one has."""
    return before.left > 0 and before.holder != input.source


# -- The protocol


SERVER_KIND = NodeKind(
    name="lease-server",
    module="Lease",
    row=Server,
    inputs=(AcquireRequest, WriteRequest, ServerTick),
    initial=lambda constants: Server(),
    first_row="InitialServer",
    role=lambda row: "Server",
)
CLIENT_KIND = NodeKind(
    name="lease-client",
    module="Lease",
    row=Client,
    inputs=(Granted, WriteResponse, ClientTick, Acquire, Write),
    initial=lambda constants: Client(),
    first_row="InitialClient",
    role=lambda row: "Holder" if row.left else "Waiting",
)

PROTOCOL = Protocol(
    name="lease",
    sentence="a server lends a resource to one client at a time; clocks may be wrong",
    constants=Constants,
    kinds=(SERVER_KIND, CLIENT_KIND),
    messages=(AcquireRequest, Granted, WriteRequest, WriteResponse),
    peers=lambda constants: constants.clients,
    nodes=lambda constants: (SERVER, *constants.clients),
    kind_of=lambda constants, node: SERVER_KIND if node == SERVER else CLIENT_KIND,
    handlers=handlers,
    rules=(LeaseRules,),
    sometimes=tuple(sometimes.all),
    modules=__file__.rpartition("/")[0],
    world=World(
        constants={"clients": ((1, 2), (1,), (1, 2, 3)), "ticks": (1, 2, 3)},
        local=local,
        promises=ClientPromise(FencedWrites, client_events),
        properties=(
            Property("TokensAreGiven", "no client has a token never given", tokens_are_given),
            Property("WrittenRises", "no write after one of a later lease", written_rises),
        ),
    ),
)
