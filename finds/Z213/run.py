"""Z213 on a real cluster: a transaction for a recreated topic can be neither committed nor aborted.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from experiments import evidence
from experiments.group import GROUP
from experiments.tools import TOPIC, Partition, Program
from kraftcheck.kafka.live import grouplog, txnlog
from kraftcheck.kafka.live.clients import Setting, read_all
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.journal import HISTORY, Journal
from kraftcheck.reference.clients.promises import Configuration

HOST: Final = "n1"
APPLICATION: Final = Path(__file__).resolve().with_name("Recreated.java")
SETTINGS: Final = {
    "one partition and one replica, a quick start": {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
}
TIMEOUT_S: Final = 75.0
"""The transaction's (a minute), and the sweep that looks for it (ten seconds)."""
CONFIGURATION: Final = Configuration(
    transactions=True,
    isolation="read_committed",
    replication_factor=1,
    min_insync_replicas=1,
)


class Application(Program):
    """Recreated.java, and what it did as a history. setting: of the topic as it is now."""

    def __init__(self, cluster: Cluster, partition: Partition, setting: Setting) -> None:
        super().__init__(cluster.tool(HOST, str(APPLICATION), cluster.bootstrap, TOPIC))
        self._partition, self.setting = partition, setting
        self._number, self._feeder = setting.processes.next(), setting.processes.next()
        self._txn: dict[str, int] = {}
        self._position = 0
        for kind in ("invoke", "ok"):  # before it reads its first step
            self._event(kind, "init", "p1")

    def feed(self, records: int) -> None:
        """Somebody else writes so many. Raises ClusterError: they are refused."""
        values = [self.setting.values.next() for _ in range(records)]
        self._wrote(self._feeder, f"feed {' '.join(map(str, values))}", values, {})

    def read(self) -> None:
        """Until it is given records."""
        self._event("invoke", "poll", [["poll"]])
        answer = self._done("read")
        key = self.setting.key(0)
        told = [["poll", {key: answer["records"]}]]
        self._event("ok", "poll", told, to=[{key: answer["position"]}])
        self._position = answer["position"]

    def begin(self) -> None:
        self._txn = {"txn": self.setting.transactions.next()}
        self._event("invoke", "begin", None, **self._txn)
        self._done("begin")
        self._event("ok", "begin", None, **self._txn)

    def send(self) -> None:
        """A record, in the transaction."""
        value = self.setting.values.next()
        self._wrote(self._number, f"send {value}", [value], self._txn)

    def place(self) -> str:
        """How far it has read, in the transaction. Returns the name of the error; none: ""."""
        key = self.setting.key(0)
        return self._asked("place", "send-offsets", [GROUP, [[key, self._position]]])

    def end(self, how: str) -> str:
        """how: commit or abort. Returns as `place` does."""
        return self._asked(how, "end", how)

    def _asked(self, step: str, f: str, value: Any) -> str:
        self._event("invoke", f, value, **self._txn)
        error = str(self._done(step)["error"])
        more = {"error": error} if error else {}
        self._event("info" if error else "ok", f, value, **self._txn, **more)
        return error

    def _wrote(self, who: int, step: str, values: list[int], more: dict[str, int]) -> None:
        key, event = self.setting.key(0), self.setting.journal.event
        event(who, "invoke", "send", [["send", key, value] for value in values], **more)
        answer = self._done(step)
        if answer["error"]:
            raise ClusterError(f"{step}: {answer['error']}")
        event(who, "ok", "send", [["send", key, each] for each in answer["records"]], **more)

    def _done(self, step: str) -> dict[str, Any]:
        answer = self.do(step)
        said = f"{answer['error'] or 'done'}, {answer['ms'] / 1000:.1f} s"
        self._partition.say(f"{step}: {said}")
        return answer

    def _event(self, kind: str, f: str, value: Any, **more: Any) -> None:
        self.setting.journal.event(self._number, kind, f, value, **more)


def run(cluster: Cluster, folder: Path, *, control: bool) -> bool:
    """Whether a transaction can be neither committed nor aborted."""
    partition = Partition(cluster, HOST, HOST, [HOST]).create(min_insync=1)
    with Journal(folder / HISTORY) as journal:
        gone = Setting(journal, cluster.bootstrap, TOPIC, 1)
        there = gone.anew("anew", 100)
        with Application(cluster, partition, gone) as application:
            application.feed(1)
            application.read()
            if error := answered(application):
                raise ClusterError(f"{error}, and the topic is as it was")
            application.read()
            partition.ask("TopicCommand", HOST, "--delete", "--topic", TOPIC)
            partition.create(asking=HOST, min_insync=1)
            partition.say("the topic was deleted, and created again")
            application.setting = there
            application.feed(9)
            application.read()
            stuck = bool(answered(application, writes=control))
            if stuck:
                stuck = bool(application.end("abort"))
                time.sleep(TIMEOUT_S)
                stuck = bool(application.end("abort")) and stuck
        read_all(there, {})
    evidence.write(cluster, folder, CONFIGURATION)
    for name in (grouplog.GROUPS, txnlog.TRANSACTIONS):  # which have one name for both topics
        (folder / name).unlink(missing_ok=True)
    return stuck


def answered(application: Application, *, writes: bool = True) -> str:
    """A transaction of what it was given.

    writes: whether that needs an answer. Returns the name of the error that it met; none: "".
    """
    application.begin()
    if writes:
        application.send()
    return application.place() or application.end("commit")


main = evidence.experiment(
    run,
    "Try whether a transaction can be ended after one of its topics was created anew.",
    control="The application writes to the topic before it says how far it has read.",
    layout="single",
    settings=SETTINGS,
    shown="the transaction can be neither committed nor aborted",
    otherwise="it was ended",
)
