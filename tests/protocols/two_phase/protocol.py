"""Two-phase commit, whose coordinator may crash: the twin of TwoPhase.tla."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from kraftcheck.reference.kit.fields import Address, ByNode, Node, SetOf, Value
from kraftcheck.reference.kit.protocol import (
    Handlers,
    NodeKind,
    Outcome,
    Property,
    Protocol,
    Substitution,
    World,
)

COORDINATOR, NOTHING = 0, 0
Voted = Literal["None", "Yes", "No"]
Decided = Literal["None", "Commit", "Abort"]


class Constants(msgspec.Struct, frozen=True, tag="two-phase", tag_field="protocol"):
    participants: SetOf[int]
    values: SetOf[Value]


class Coordinator(msgspec.Struct, frozen=True):
    up: bool
    value: Value
    votes: ByNode[Voted]
    decision: Decided
    confirmed: SetOf[Node]


class Participant(msgspec.Struct, frozen=True):
    state: Literal["Working", "Prepared", "Committed", "Aborted"] = "Working"
    value: Value = NOTHING


# -- Inputs


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class Message(Input, frozen=True):
    source: Address
    destination: Address


class Prepare(Message, frozen=True):
    value: Value


class Vote(Message, frozen=True):
    yes: bool


class Decision(Message, frozen=True):
    commit: bool


class Confirm(Message, frozen=True):
    pass


class Begin(Input, frozen=True):
    value: Value


class Stop(Input, frozen=True):
    pass


class Recover(Input, frozen=True):
    pass


class Refuse(Input, frozen=True):
    pass


# -- Rules and handlers


class TwoPhaseRules:
    """The decisions, which bugs replace."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def decided(self, row: Coordinator, votes: tuple[Voted, ...]) -> Decided:
        if "No" in votes:
            return "Abort"
        return "Commit" if set(votes) == {"Yes"} else "None"

    def on_recovery(self, row: Coordinator) -> Decided:
        return "Abort" if row.decision == "None" else row.decision


def unasked(constants: Constants) -> tuple[Voted, ...]:
    return tuple(["None" for _ in constants.participants])


def handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: TwoPhaseRules = of(TwoPhaseRules)(constants)
    participants = constants.participants

    def decisions(row: Coordinator, among: Iterable[int]) -> tuple[Message, ...]:
        return tuple([Decision(COORDINATOR, p, row.decision == "Commit") for p in among])

    def vote(row: Coordinator, m: Vote) -> Outcome:
        if row.decision != "None":
            return Outcome(row, ignored="Decided")
        new: Voted = "Yes" if m.yes else "No"
        votes = tuple(
            [new if p == m.source else old for p, old in zip(participants, row.votes, strict=True)]
        )
        after = msgspec.structs.replace(row, votes=votes, decision=rules.decided(row, votes))
        return Outcome(after, () if after.decision == "None" else decisions(after, participants))

    def recover(row: Coordinator) -> Outcome:
        if row.value == NOTHING:
            return Outcome(msgspec.structs.replace(row, up=True))
        after = msgspec.structs.replace(row, up=True, decision=rules.on_recovery(row))
        return Outcome(after, decisions(after, sorted({*participants} - {*row.confirmed})))

    def step(n: int, row: Any, m: Any) -> Outcome | None:
        match m:
            case Begin() if row.up and row.value == NOTHING:
                asked = tuple([Prepare(n, p, m.value) for p in participants])
                return Outcome(msgspec.structs.replace(row, value=m.value), asked)
            case Vote():
                return vote(row, m)
            case Confirm():
                confirmed = tuple(sorted({*row.confirmed, m.source}))
                return Outcome(msgspec.structs.replace(row, confirmed=confirmed))
            case Stop() if row.up:
                down = msgspec.structs.replace(row, up=False, votes=unasked(constants))
                return Outcome(down)
            case Recover() if not row.up:
                return recover(row)
            case Prepare():
                if row.state == "Working":
                    return Outcome(Participant("Prepared", m.value), (Vote(n, COORDINATOR, True),))
                if row.state == "Aborted":
                    return Outcome(row, (Vote(n, COORDINATOR, False),))
                return Outcome(row, ignored="Prepared")
            case Decision():
                state = "Committed" if m.commit else "Aborted"
                done = msgspec.structs.replace(row, state=state)
                return Outcome(done, (Confirm(n, COORDINATOR),))
            case Refuse() if row.state == "Working":
                return Outcome(msgspec.structs.replace(row, state="Aborted"))
        return None

    return step


def local(constants: Constants, node: int, row: Any) -> Iterable[Input]:
    if node != COORDINATOR:
        return (Refuse(),)
    return (*[Begin(value) for value in constants.values], Stop(), Recover())


# -- Properties


def decision_is_kept(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> str | None:
    old, new = before[COORDINATOR].decision, after[COORDINATOR].decision
    return f"{old} was decided, and is {new} now" if old not in ("None", new) else None


def all_agree(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> str | None:
    states = {after[p].state for p in constants.participants}
    return "one has committed, another aborted" if {"Committed", "Aborted"} <= states else None


# -- The protocol


COORDINATOR_KIND = NodeKind(
    name="coordinator",
    module="TwoPhase",
    row=Coordinator,
    inputs=(Begin, Vote, Confirm, Stop, Recover),
    initial=lambda constants: Coordinator(True, NOTHING, unasked(constants), "None", ()),
    first_row="InitialCoordinator",
    is_running=lambda row: row.up,
    running="IsRunning",
    role=lambda row: row.decision if row.up else "Down",
)
PARTICIPANT_KIND = NodeKind(
    name="participant",
    module="TwoPhase",
    row=Participant,
    inputs=(Prepare, Decision, Refuse),
    initial=lambda constants: Participant(),
    first_row="InitialParticipant",
    role=lambda row: row.state,
)

PROTOCOL = Protocol(
    name="two-phase",
    sentence="a coordinator that may crash has its participants commit or abort",
    constants=Constants,
    kinds=(COORDINATOR_KIND, PARTICIPANT_KIND),
    messages=(Prepare, Vote, Decision, Confirm),
    peers=lambda constants: constants.participants,
    nodes=lambda constants: (COORDINATOR, *constants.participants),
    kind_of=lambda constants, n: COORDINATOR_KIND if n == COORDINATOR else PARTICIPANT_KIND,
    handlers=handlers,
    rules=(TwoPhaseRules,),
    modules=__file__.rpartition("/")[0],
    world=World(
        constants={"participants": ((1, 2), (1,), (1, 2, 3)), "values": ((1,), (1, 2))},
        local=local,
        properties=(
            Property("DecisionIsKept", "what was decided stays so", decision_is_kept),
            Property("AllAgree", "nobody has done what another gave up", all_agree),
        ),
    ),
)
