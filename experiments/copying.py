"""An application that copies a topic exactly once (Copy.java), and what it did as a history."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import click

from experiments.group import GROUP, Protocol
from experiments.tools import TOPIC, Partition, Program
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.reference.clients.promises import Configuration

COPY = Path(__file__).resolve().parent / "Copy.java"
COPIES = "copies"
CONFIGURATION = Configuration(
    one_client=False, goes_back=True, isolation="read_committed", transactions=True
)


def create_copies(partition: Partition, asking: str) -> None:
    """The topic of copies, of three replicas."""
    words = ("--create", "--topic", COPIES, "--replica-assignment", "1:2:3")
    partition.ask("TopicCommand", asking, *words)


def copies_in(partition: Partition, asking: str, records: int) -> list[str]:
    """What was copied, and is committed. records: that there were to be copied."""
    copied = partition.read(asking, "read_committed", COPIES)
    click.echo(f"{records} records; {len(copied)} copies: {' '.join(copied)}")
    return copied


class Application(Program):
    """One of those that copy `t` to `copies`.

    protocol: `cooperative` is the classic one with CooperativeStickyAssignor. slow: it waits once
    it is assigned partitions. tells: the history has what it was given and gave up in a poll, at
    the end of that, so no two may be polled at once, and that it left.
    """

    def __init__(
        self,
        cluster: Cluster,
        setting: Setting,
        name: str,
        protocol: Protocol | Literal["cooperative"],
        host: str,
        *,
        slow: bool = False,
        tells: bool = False,
    ) -> None:
        words = [cluster.bootstrap, TOPIC, COPIES, name, protocol, *(["slow"] if slow else [])]
        super().__init__(cluster.tool(host, str(COPY), *words))
        self._event = partial(setting.journal.event, setting.processes.next())
        self._number = setting.transactions.next
        self._txn: dict[str, int] = {}
        self._tells = tells
        self._written = self._committed = 0
        self.read: list[tuple[int, int, int]] = []
        """What it was given: partition, offset and value of each."""
        self.has: list[int] = []
        """The partitions that its consumer took for its own after the last poll."""
        self.usable = True
        """Whether its producer can be used after what it was refused last."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        for when in ("invoke", "ok") if self._tells else ():
            self._event(when, "leave", [GROUP, None])

    def poll(self, step: str) -> None:
        """A step that ends with what it was given."""
        self._event("invoke", "poll", [["poll"]])
        self._given(self.do(step))

    def join(self, step: str) -> list[int]:
        """A poll of one that is slow. Returns the partitions that it is assigned."""
        self._event("invoke", "poll", [["poll"]])
        found: list[int] = self.do(step)["assigned"]
        return found

    def go_on(self) -> None:
        """It has loaded what belongs to its partitions; the poll ends."""
        self._given(self.do(""))

    def _given(self, answer: dict[str, Any]) -> None:
        """answer: has all that it was given so far."""
        before = len(self.read)
        had, self.has = set(self.has), answer["has"]
        if self._tells:
            self._callback("partitions-revoked", had - set(self.has), answer["member"])
            self._callback("partitions-assigned", set(self.has) - had, answer["member"])
        self.read = [(at, offset, value) for at, offset, value in answer["records"]]
        among = groupby(sorted(self.read[before:]), itemgetter(0))
        told = {f"{TOPIC}-{at}": [each[1:] for each in of] for at, of in among}
        self._event("ok", "poll", [["poll", told]])

    def _callback(self, f: str, partitions: set[int], member: str) -> None:
        value = [GROUP, [f"{TOPIC}-{at}" for at in sorted(partitions)]]
        for kind in ("invoke", "ok") if partitions else ():
            self._event(kind, f, value, mark=member)

    def copy(self) -> str:
        """Writes what it has read, and says how far it has.

        Returns the name of the error that it met, and that aborted it; none: "".
        """
        self.write()
        return self.finish()

    def write(self, *, more: bool = False) -> None:
        """Begin a transaction, and send what was read since the last committed one.

        more: go on in the same transaction with what was read since.
        """
        self._send("more" if more else "write")

    def place(self) -> str:
        """Says how far it has read. Returns as `copy` does."""
        self._event("invoke", "send-offsets", self._place(), **self._txn)
        return self._placed(self.do("place"))

    def at_once(self, *, heavy: bool = False) -> str:
        """Do `write` and then `place`, without waiting between them.

        The history has the one when both are done. heavy: a record that its topic refuses is on its
        way before, of which the history tells nothing. Returns as `copy` does.
        """
        answer = self._send("heavy" if heavy else "all")
        self._event("invoke", "send-offsets", self._place(), **self._txn)
        return self._placed(answer)

    def _send(self, step: str) -> dict[str, Any]:
        if step != "more":
            self._txn = {"txn": self._number()}
            self._written = self._committed
            self._event("invoke", "begin", None, **self._txn)
            self._event("ok", "begin", None, **self._txn)
        asked = [["send", f"{COPIES}-0", value] for _, _, value in self.read[self._written :]]
        self._written = len(self.read)
        self._event("invoke", "send", asked, **self._txn)
        answer = self.do(step)
        if answer["error"]:
            self._event("fail", "send", asked, **self._txn)  # it is aborted, or never ended
        else:
            sent = [["send", f"{COPIES}-0", record] for record in answer["records"]]
            self._event("ok", "send", sent, **self._txn)
        return answer

    def _place(self) -> list[Any]:
        ends = {at: offset + 1 for at, offset, _ in sorted(self.read)}
        return [GROUP, [[f"{TOPIC}-{at}", end] for at, end in ends.items()]]

    def _placed(self, answer: dict[str, Any]) -> str:
        error, self.usable = str(answer["error"]), bool(answer["usable"])
        told = {**self._txn, **({"error": error} if error else {})}
        self._event("fail" if error else "ok", "send-offsets", self._place(), **told)
        if error:  # which has aborted it, if anything can
            self._event("invoke", "end", "abort", **self._txn)
            self._event("ok" if self.usable else "info", "end", "abort", **self._txn)
        return error

    def commit(self) -> str:
        """Returns as `copy` does."""
        self._event("invoke", "end", "commit", **self._txn)
        error = str(self.do("commit")["error"])
        self._event("fail" if error else "ok", "end", "commit", **self._txn)
        self._committed = self._committed if error else self._written
        return error

    def finish(self) -> str:
        """Returns as `copy` does."""
        return self.place() or self.commit()
