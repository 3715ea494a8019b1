"""A quorum under a schedule: which moves there are besides steps, and whether time would heal.

Steps are those of the driver by script (reference/drivers/script.py). Law of this file: no choice
is made here. A message stays in the network once it was sent, as in the spec, so it may come again
and in any order; what waits is only what has not been delivered yet.

Which timers are armed is what timers.py says. Any of them may go off at any time, as in the spec;
only when nothing disturbs the quorum (`calm`) do they go off in the order of their deadlines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

from kraftcheck.reference.clients.promises import (
    NOTHING,
    Configuration as ClientConfiguration,
    Envelope,
)
from kraftcheck.reference.core.system import Configuration
from kraftcheck.reference.drivers.clock import CANCEL, KEEP
from kraftcheck.reference.drivers.script import ToldRun
from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.messages import (
    MESSAGES,
    TIMERS,
    Append,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    Flush,
    Input,
    Message,
    Request,
    Resign,
    Restart,
    Timer,
)
from kraftcheck.reference.quorum.sim.family import CONFIGURATION
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.machine import QuorumMachine, QuorumMemo
from kraftcheck.reference.quorum.sim.words import move_words
from kraftcheck.reference.quorum.timers import Timeouts
from kraftcheck.reference.quorum.types import Constants, Row, is_running
from kraftcheck.reference.sim.memo import Instruction, Memos, Step
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.mail import Link, Mail
from kraftcheck.reference.steered.moves import Move, Names, Words

TIMEOUTS = Timeouts()
memos = Memos()
"""By bug."""
SPREAD = 70
TRUE_RATE = 4
WELL = "disks and clocks are well"
RATES = {1: "runs four times too fast", 4: "runs true", 16: "runs four times too slowly"}
MOVES_TO_PROGRESS = 1000
MOVES_TO_COPY = 6
"""How many moves it may take to be well again, once all faults have ended and what waited has come:
for each voter so many, since a timer may have been armed by a clock that ran four times too slowly;
and so many for each record, since a fetch may carry one at a time."""


def cut_words(links: set[Link]) -> str:
    return "cut " + ", ".join(f"{a} -> {b}" for a, b in sorted(links))


def reading_words(node: int, offset: int) -> str:
    return f"a client of {node} reads from {offset}"


class TimedProperty(NamedTuple):
    """What must be so after some time: no property of rows."""

    name: str
    sentence: str


ISOLATED_LEADER_RESIGNS = TimedProperty(
    "IsolatedLeaderResigns",
    "A leader that no majority has fetched from for its time leads no longer.",
)
"""Protocol rules 6.2."""


class Schedule(ToldRun):
    """Network, links that are cut, armed timers, and the moves so far.

    Args:
        memo: with the nodes, if they are not those of the reference with this bug.
        recorder: of the cluster of which this is a part.
        watched: a violated invariant ends the run; off, nobody looks, and what clients see judges
            alone.
    """

    has_control_records = True
    messages: ClassVar[tuple[type[Any], ...]] = MESSAGES

    def __init__(
        self,
        constants: Constants,
        bug: str | None = None,
        memo: QuorumMemo | None = None,
        recorder: Recorder | None = None,
        watched: bool = True,
    ) -> None:
        self._given, self.watched = constants, watched
        of = Options(voters=len(constants.nodes), fetch_max_records=constants.fetch_max_records)
        memo = memo or memos.memo(bug, lambda: QuorumMemo(TIMEOUTS, bug))
        super().__init__(of, memo, recorder)
        machine = self.system.machine
        assert isinstance(machine, QuorumMachine), "its steps have effects on timers"
        self._machine = machine
        self.mail: Mail[Message] = Mail(
            lambda m: (m.source, m.destination), lambda m: self.passes(m) and self.lives(m)
        )
        self._sent: dict[Message, int] = {}
        """When each message was sent first: before how many others."""
        self._alive: dict[bool, list[Message]] = {}
        """What `deliverable` found, until something moves."""
        self.cut: set[Link] = set()
        self.now = 0
        self.due: dict[tuple[int, Timer], int] = {}
        """The deadlines of armed timers, in milliseconds."""
        self.rates = dict.fromkeys(constants.nodes, TRUE_RATE)
        """By node, how long its clock takes for what truly takes TRUE_RATE."""
        self.stalled: set[int] = set()
        """Nodes whose disk does not get anything done."""
        self._names = Names(lambda m: move_words(constants, m.destination, m))
        self.appended = 0
        self.operations: list[Operation] = []
        """What clients of the metadata log asked, each in a process of its own."""
        self._open: list[tuple[Operation, int]] = []
        """Appends of which nothing is known yet, each with the epoch of who took it."""
        for n in constants.nodes:
            self._set_timers(n, machine.first_timers(n))

    def make_constants(self, protocol: Any, options: Any) -> Constants:
        return self._given

    # --- What there is

    def row(self, node: int) -> Row:
        """The node's row."""
        row: Row = self.state(node).row
        return row

    def committed(self) -> log.Log:
        """What was ever committed."""
        judge: Any = self._judge
        found: log.Log = judge.history.committed if judge else self.rows[HISTORY] or ()
        return found

    def least_kept(self, node: int) -> int:
        """Where the log of a node ends at least that crashes now."""
        return self.row(node).flushed

    # --- One move

    def do(self, node: int, input: Input) -> None:
        """One step of one node; an input that is disabled changes nothing."""
        if isinstance(input, self.messages):
            self.mail.come(input)
        elif isinstance(input, TIMERS):
            first = self.timers()[:1] == [(node, input)]
            due = self.due.pop((node, input), self.now)
            if first:
                self.now = max(self.now, due)
        self._note(self.words(node, input))
        self.sound = False
        self._step(node, input)
        self.sound = True

    def words(self, node: int, input: Input) -> str:
        if isinstance(input, self.messages):
            return self._names.name(input)
        return move_words(self.constants, node, input)

    def wordings(self, node: int, input: Input) -> Iterator[str]:
        """The moves that give a node this input, each asked for when those before it were made."""
        yield self.words(node, input)

    def stepped(self, step: Step) -> None:
        """A step was taken, and nothing is violated: whoever watches the quorum looks now."""

    def _step(self, node: int, input: Input) -> Step | None:
        step = self.step(node, self.known(input))
        if step is None:
            self._nothing_happened(node, input)
            return None
        self.perform(step)
        self.stepped(step)
        return step

    def make(self, time: int, step: Step) -> bool:
        node, input = step.before.node, step.input.value
        if step.before.row.role == "Down":
            self.stalled.discard(node)
        self._set_timers(node, step.timers)
        for _, m in step.sent:
            self._names.name(m.value)
            self.mail.post(m.value)
            self._sent.setdefault(m.value, len(self._sent))
        self.record(time, step)
        self.at = Configuration(self.system.after(self.at, step).states)
        if isinstance(input, Append):
            self._took(step, input.value)
        self._tell()
        holds = self.holds_after(step)
        if not self.watched:
            self.violations.clear()
        return holds

    def _nothing_happened(self, node: int, input: Input) -> None:
        """A leader that has heard from no majority for so long must not go on.

        A sole voter is majority enough.
        """
        row, alone = self.row(node), len(self.constants.voters) == 1
        led = isinstance(input, CheckQuorumTimeout) and row.role == "Leader"
        if led and not alone and self.watched:
            what = f"leader {node} of epoch {row.epoch} goes on"
            raise Violation(ISOLATED_LEADER_RESIGNS, what, self.moves)

    def _note(self, move: str) -> None:
        self.moves.append(move)
        self._alive.clear()

    def _set_timers(self, node: int, timers: Iterable[Instruction]) -> None:
        """Timers of one kind differ a little from node to node, so that elections get decided."""
        for what, known, least, _ in timers:
            timer: Any = known.value
            if what == CANCEL:
                self.due.pop((node, timer), None)
            elif what == KEEP:
                self.due.setdefault((node, timer), self.now)
            else:
                spread = SPREAD * node if isinstance(timer, ElectionTimeout) else 0
                self._arm(node, timer, least + spread)

    def _arm(self, node: int, timer: Any, wait: int) -> None:
        self.due[node, timer] = self.now + wait * self.rates[node] // TRUE_RATE

    def append(self, node: int) -> None:
        """A record with a value that none before it had."""
        self.appended += 1
        self.do(node, Append(self.appended))

    def read(self, node: int, offset: int) -> None:
        """A client reads what a node knows to be committed, from an offset on."""
        self._note(reading_words(node, offset))
        operation = self._ask("fetch", node)
        row = self.row(node)
        operation.offset, operation.completed = offset, self.now_us()
        if row.high_watermark < offset:
            operation.outcome = "fail"
            return
        operation.outcome, operation.end = "ok", row.high_watermark
        operation.values = [entry.value for entry in row.log[offset : row.high_watermark]]

    def now_us(self) -> int:
        """Virtual microseconds."""
        return 1000 * self.now

    def _ask(self, op: str, node: int) -> Operation:
        operation = Operation(len(self.operations), op, node, self.now_us())
        self.operations.append(operation)
        return operation

    def _took(self, step: Step, value: int) -> None:
        """An append has reached a node, which took it if it leads."""
        operation, row = self._ask("append", step.before.node), step.after.row
        operation.values = [value]
        if step.ignored:
            operation.outcome, operation.completed = "fail", self.now_us()
            return
        operation.offset = log.end_offset(row.log) - 1
        self._open.append((operation, row.epoch))

    def _tell(self) -> None:
        """Who appended is told once its leader knows the record to be committed.

        If that leads no longer, nobody tells.
        """
        still = []
        for operation, epoch in self._open:
            row = self.row(operation.node)
            if row.role != "Leader" or row.epoch != epoch:
                operation.outcome = "indeterminate"
            elif row.high_watermark > (operation.offset or 0):
                operation.outcome, operation.completed = "ok", self.now_us()
            else:
                still.append((operation, epoch))
        self._open = still

    @property
    def promised(self) -> tuple[ClientConfiguration, Envelope]:
        """What is promised to who asks any of its nodes."""
        return CONFIGURATION, NOTHING

    def close_history(self) -> list[Operation]:
        """What clients saw. What is open stays open."""
        for operation in self.operations:
            operation.outcome = operation.outcome or "indeterminate"
        return self.operations

    def sever(self, links: set[Link]) -> None:
        """No message passes these links until they are joined again."""
        self.cut |= links
        self._note(cut_words(links))

    def set_clock(self, node: int, rate: int) -> None:
        """From now on, timers that a node arms take `rate` where TRUE_RATE is true."""
        self.rates[node] = rate
        self._note(f"clock of {node} {RATES[rate]}")

    def stall(self, node: int) -> None:
        """Nothing reaches the disk of a node until it starts again, or all is healed."""
        self.stalled.add(node)
        self._note(f"disk of {node} stalls")

    # --- Which moves there are

    def move(self, words: Words, make: Callable[[], None]) -> Move:
        """What is made is noted by itself."""
        return Move(words, make)

    def step_of(self, node: int, input: Input) -> Move:
        return self.move(partial(self.words, node, input), partial(self.do, node, input))

    def possible(self) -> Iterator[Move]:
        yield from (*self.arrivals(), *self.arrivals(again=True))
        yield from (*self.expiries(), *self.flushes(), *self.crashes(), *self.restarts())
        yield from self.resignations()
        for node in self.nodes("Leader"):
            words = self.words(node, Append(self.appended + 1))
            yield Move(words, partial(self.append, node))
        for node, offset in self.readable():
            yield Move(reading_words(node, offset), partial(self.read, node, offset))
        yield from (*self.stalls(), *self.clocks(), *self.cuts())
        yield Move("heal all links", self.heal)
        yield self.well()

    def arrivals(self, again: bool = False, held: bool | None = None) -> list[Move]:
        """The latest first. held: only what is slow, or only what is not."""
        return [
            self.step_of(m.destination, m)
            for m in self.deliverable(again=again)
            if held in (None, m in self.mail.held)
        ]

    def delays(self) -> list[Callable[[], None]]:
        """What is on its way may be slow from now on."""
        return self.mail.delays()

    def expiries(self) -> list[Move]:
        return [self.step_of(*each) for each in self.timers()]

    def flushes(self) -> list[Move]:
        return [self.step_of(n, Flush()) for n in self.unflushed()]

    def crashes(self, lossy: bool = True) -> list[Move]:
        """What is flushed stays. Of the rest all stays, or, with loss, any part."""
        found = []
        for n in self.nodes():
            end = len(self.row(n).log)
            least = self.least_kept(n) if lossy else end
            found += [self.step_of(n, Crash(keep)) for keep in range(end, least - 1, -1)]
        return found

    def restarts(self) -> list[Move]:
        return [self.step_of(n, Restart()) for n in self.nodes("Down")]

    def resignations(self) -> list[Move]:
        return [self.step_of(n, Resign()) for n in self.nodes("Leader")]

    def stalls(self) -> list[Move]:
        return [
            self.move(f"disk of {node} stalls", partial(self.stall, node))
            for node in self.constants.nodes
        ]

    def clocks(self) -> list[Move]:
        return [
            self.move(f"clock of {node} {words}", partial(self.set_clock, node, rate))
            for node in self.constants.nodes
            for rate, words in RATES.items()
        ]

    def well(self) -> Move:
        return self.move(WELL, self.end_faults)

    def cuts(self) -> list[Move]:
        """Of a voter from all others, or of one link one way."""
        found: dict[str, set[Link]] = {}
        for node in self.constants.nodes:
            others = [n for n in self.constants.nodes if n != node]
            both = {(node, n) for n in others} | {(n, node) for n in others}
            ways = (both, *({(node, n)} for n in others))
            found |= {cut_words(links): links for links in ways if links}
        return [self.move(words, partial(self.sever, links)) for words, links in found.items()]

    def setting(self) -> dict[str, Any]:
        constants = self.constants
        return {"voters": list(constants.voters), "fetch_max_records": constants.fetch_max_records}

    def passes(self, m: Message) -> bool:
        return (m.source, m.destination) not in self.cut and is_running(self.row(m.destination))

    def lives(self, m: Message) -> bool:
        """Say whether a message can still matter.

        An answer that nobody awaits cannot, nor a request of an epoch that both sides have left.
        """
        row, handlers = self.row(m.destination), self._machine.handlers
        if isinstance(m, Request):
            return m.epoch >= row.epoch or self.row(m.source).epoch <= m.epoch
        in_flight = handlers.request_in_flight(m.destination, row, m.source)
        return handlers.rules.answers_in_flight(row, m, in_flight)

    def deliverable(self, *of: type[Message], again: bool = False) -> list[Message]:
        """Messages of these kinds that may come now, the latest first; `again`: come once more."""
        if again not in self._alive:
            found = self.mail.deliverable(again)
            if again:
                found = sorted(filter(self._sent.__contains__, found), key=self._sent.__getitem__)
            self._alive[again] = found[::-1]
        return [m for m in self._alive[again] if isinstance(m, of or self.messages)]

    def timers(self) -> list[tuple[int, Timer]]:
        """Armed timers, the one that is due first at the front."""
        return sorted(self.due, key=self.due.__getitem__)

    def nodes(self, *roles: str) -> list[int]:
        """Nodes in one of these roles, or all that run."""
        return [
            s.node for s in self.at.states if (s.row.role in roles if roles else is_running(s.row))
        ]

    def readable(self) -> list[tuple[int, int]]:
        """Nodes that know what is committed, and the offsets from which they may be read."""
        return [(n, o) for n in self.nodes() for o in range(self.row(n).high_watermark + 1)]

    def unflushed(self) -> list[int]:
        behind = [n for n in self.nodes() if self.row(n).flushed < len(self.row(n).log)]
        return [n for n in behind if n not in self.stalled]

    # --- Time passes

    def calm(self) -> bool:
        """The move that a quorum without faults makes next; False when there is none.

        What waits longest arrives; else what is appended reaches the disk; else the clock goes on
        to the next deadline.
        """
        if waiting := [m for m in self.deliverable() if m not in self.mail.held]:
            self.do(waiting[-1].destination, waiting[-1])
        elif unflushed := self.unflushed():
            self.do(unflushed[0], Flush())
        elif timers := self.timers():
            self.do(*timers[0])
        else:
            return False
        return True

    def heal(self) -> None:
        """Links are whole again; what waited at them may come, and what was slow."""
        self.cut.clear()
        self.mail.held.clear()
        self._note("heal all links")

    def end_faults(self) -> None:
        """Disks and clocks are well again."""
        self.stalled.clear()
        self.rates = dict.fromkeys(self.constants.nodes, TRUE_RATE)
        self._note(WELL)

    def progress(self) -> str:
        """End every fault and let time pass until a new record is committed and all logs are equal.

        Then empty, or else why that did not happen within a bounded number of moves.
        """
        self.heal()
        self.end_faults()
        for n in self.nodes("Down"):
            self.do(n, Restart())
        wanted = 0
        for _ in range(self._bound()):
            leader = self._leader()
            if not self.deliverable() and leader is not None:
                if all(e.value != wanted for e in self.row(leader).log):
                    self.append(leader)
                    wanted = self.appended
                elif self._converged(wanted):
                    return ""
            if not self.calm():
                return "nothing happens any more"
        return self._reason(wanted)

    def _bound(self) -> int:
        records = max(log.end_offset(s.row.log) for s in self.at.states)
        each = MOVES_TO_PROGRESS + MOVES_TO_COPY * records
        return len(self.mail.waiting) + each * len(self.constants.nodes)

    def _leader(self) -> int | None:
        """Who leads the latest epoch, if all follow."""
        latest = max(s.row.epoch for s in self.at.states)
        leaders = [n for n in self.nodes("Leader") if self.row(n).epoch == latest]
        followed = all(s.row.leader in leaders for s in self.at.states)
        return leaders[0] if leaders and followed else None

    def _converged(self, wanted: int) -> bool:
        committed = self.committed()
        return any(e.value == wanted for e in committed) and all(
            s.row.log == committed and s.row.high_watermark == log.end_offset(committed)
            for s in self.at.states
        )

    def _reason(self, wanted: int) -> str:
        roles = ", ".join(f"{s.node} is {s.row.role} in {s.row.epoch}" for s in self.at.states)
        if (leader := self._leader()) is None:
            return f"nobody leads the latest epoch and is followed by all ({roles})"
        if all(e.value != wanted for e in self.committed()):
            return f"leader {leader} does not commit a new record"
        return "the logs do not become equal"
