"""The clients: each appends unique values and reads what is committed, one operation at a time.

An append is ok once the high watermark of the leader that took it covers it, while that leader
still leads the same epoch; it failed if the node that was asked does not lead; it is indeterminate
if leadership or the node was lost first, or if the client lost patience. After that its process
asks nothing more (the record may yet appear, at any time), and a new process takes its place.

A fetch reads, at one moment, what a node knows to be committed: its log from some offset up to its
high watermark. It fails where the node is down or knows no high watermark.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.reference.kit.log import LEADER_CHANGE
from kraftcheck.reference.quorum.sim.run import QuorumRun
from kraftcheck.reference.quorum.sim.scenario import Load
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.operations import Operation

HOP_US = 500
"""How long a request or a response of a client is under way."""
REFUSED = 1000
"""Values that a leader takes count from 1, those that are refused from here: so what logs hold
depends less on what did not happen, and more steps are the same."""


class Clients:
    """The clients of one run, and the history that they see."""

    def __init__(self, load: Load, stream: Stream, nodes: Sequence[int], world: QuorumRun) -> None:
        self._load = load
        self._stream = stream
        self._nodes = nodes
        self._world = world
        self.history: list[Operation] = []
        self._processes = load.clients
        self._process = list(range(load.clients))
        self._position = [0] * load.clients
        self._values = 0
        self._refused = REFUSED
        # Appends whose outcome is open, by the node that took them: (operation, epoch, client).
        self.open: dict[int, list[tuple[Operation, int, int]]] = {n: [] for n in nodes}

    def start(self) -> None:
        for client in range(self._load.clients):
            self._think(client)

    def _think(self, client: int) -> None:
        if client >= 0:
            self._world.call(1000 * pick(self._stream, self._load.think_ms), self._ask, client)

    def _ask(self, client: int) -> None:
        if self._world.over:
            return
        leader = self._world.leader()
        wants_append = self._values < self._load.appends and self._stream.below(2) == 0
        # Few ask a node that does not lead: it only says so.
        astray = self._stream.below(8) == 7
        if wants_append and (leader is not None or astray):
            node = pick(self._stream, self._nodes) if astray or leader is None else leader
            self.append(node, client)
        else:
            self._fetch(pick(self._stream, self._nodes), client)

    def append(self, node: int, client: int) -> Operation:
        """Appends the next value; client -1 is nobody in particular, and asks once."""
        process = self._process[client] if client >= 0 else self._new_process()
        operation = self._operation(process, "append", node)
        self._world.call(HOP_US, lambda _: self._arrive(operation, client), node)
        return operation

    def _operation(self, process: int, op: str, node: int) -> Operation:
        operation = Operation(process, op, node, self._world.now)
        self.history.append(operation)
        return operation

    def _new_process(self) -> int:
        self._processes += 1
        return self._processes - 1

    def _arrive(self, operation: Operation, client: int) -> None:
        world, node = self._world, operation.node
        value = self._next_value(leads=world.rows[node].role == "Leader")
        operation.values = [value]
        if not world.is_running(node) or world.append(node, value):
            self._close(operation, "fail", client)
            return
        row = world.rows[node]
        operation.offset = len(row.log) - 1
        self.open[node].append((operation, row.epoch, client))
        self.look(node, row)
        self._world.call(
            1000 * self._load.patience_ms, lambda _: self._give_up(operation, client), node
        )

    def _next_value(self, leads: bool) -> int:
        """Each value is used once."""
        if leads:
            self._values += 1
            return self._values
        self._refused += 1
        return self._refused

    def look(self, node: int, row: Row) -> None:
        """Settles what a new row of `node` settles."""
        still_open = []
        for operation, epoch, client in self.open[node]:
            assert operation.offset is not None, "an open append has its offset"
            if row.role != "Leader" or row.epoch != epoch:
                self._close(operation, "indeterminate", client)
            elif row.high_watermark > operation.offset:
                self._close(operation, "ok", client)
            else:
                still_open.append((operation, epoch, client))
        self.open[node] = still_open

    def _give_up(self, operation: Operation, client: int) -> None:
        if not operation.outcome:
            self.open[operation.node] = [
                entry for entry in self.open[operation.node] if entry[0] is not operation
            ]
            self._close(operation, "indeterminate", client)

    def _close(self, operation: Operation, outcome: str, client: int) -> None:
        operation.outcome = outcome
        if outcome != "indeterminate":
            operation.completed = self._world.now + HOP_US
        elif client >= 0:
            self._process[client] = self._new_process()
        self._think(client)

    def _fetch(self, node: int, client: int) -> None:
        operation = self._operation(self._process[client], "fetch", node)
        self._world.call(HOP_US, lambda _: self._read(operation, client), node)

    def _read(self, operation: Operation, client: int) -> None:
        row = self._world.rows[operation.node]
        if not self._world.is_running(operation.node) or row.high_watermark < 0:
            self._close(operation, "fail", client)
            return
        # Even clients read on, odd ones read all of it again.
        position = 0 if client % 2 else self._position[client]
        operation.offset = position
        read = row.log[position : row.high_watermark]
        operation.values = [max(entry.value, LEADER_CHANGE) for entry in read]
        self._position[client] = operation.end = position + len(operation.values)
        self._close(operation, "ok", client)

    def awaits(self, node: int) -> bool:
        return bool(self.open[node])

    def finish(self) -> None:
        """What is open when the run ends stays open."""
        for operation in self.history:
            operation.outcome = operation.outcome or "indeterminate"
