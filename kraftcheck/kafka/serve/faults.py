"""What is done to a cluster: commands, and moves that wait until something has happened.

A move is a command with a `when`: the nth request of a kind, a time, a high watermark, or a command
of its name. Commands and moves are arrivals like any other: they are on the tape (tape.py), and
what follows from them follows by the rules. One kind is different, and counted: an answer that is
invented (`answer`), of which no rule knows.

Law of this file: no clock and no chance, but a plan's seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Set
from typing import Any, Final, TypeAlias

import msgspec

from kraftcheck.kafka.serve.apis import BY_KEY, ERRORS
from kraftcheck.kafka.serve.codec import Message, description
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.requests import Request, by_topic
from kraftcheck.kafka.serve.topics import created
from kraftcheck.kafka.serve.world import ServedWorld
from kraftcheck.reference.partition.messages import NOBODY

Command: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""Returns what is wrong with it. Raises KeyError, TypeError, ValueError likewise."""
ON_REQUESTS: Final = ("reset", "delay", "answer")
"""What is done to a request itself."""
UNDONE_BY: Final = {
    **{"kill": "restart", "stop": "restart"},
    **{"cut": "join", "pause": "resume", "stale": "fresh"},
}
"""What ends after `lasts_ms`, if that is said."""
_DOES: Final[Mapping[str, Callable[..., None]]] = {
    **{
        "kill": ServedWorld.kill,
        "stop": ServedWorld.stop,
        "restart": ServedWorld.restart,
        "expire": ServedWorld.expire,
    },
    **{"pause": ServedWorld.pause, "resume": ServedWorld.resume},
    "cut": lambda world, broker: world.cut(broker, False),
    "join": lambda world, broker: world.cut(broker, True),
    "stale": lambda world, broker: world.tell(broker, False),
    "fresh": lambda world, broker: world.tell(broker, True),
}
ON_BROKERS: Final = tuple(_DOES)
OF_ALL: Final = ("restart", "join")
"""What may be done to all brokers at once."""
CUTS: Final = ("before", "after", "within")
_EVERY: Final = frozenset({"do", "when", "times", "lasts_ms"})
_TOLD: Final[dict[str, Set[str]]] = {
    **dict.fromkeys(ON_BROKERS, frozenset({"broker"})),
    "kill": {"broker", "lose", "keep", "torn"},
    **dict.fromkeys(("move", "elect"), frozenset({"topic", "partition"})),
    "fire": {"name"},
    "reset": {"cut", "api", "client", "topic", "broker"},
    "delay": {"ms", "until"},
    "answer": {"error"},
    **dict.fromkeys(("deny", "allow"), frozenset({"user", "operation", "kind", "name"})),
}
"""What a command is told beside that. A topic that is made has configuration of any name."""
_WHO: Final = re.compile(r"(leader|follower) of (.+)-(\d+)|coordinator|(\d+)")


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a fault happens.

    At one of: the `nth` request (since the move was told) of an API, to a topic, of a client, to a
    broker; `at` seconds of the cluster's own; a partition's high watermark; a command.
    """

    api: str = ""
    topic: str = ""
    client: str = ""
    broker: int | None = None
    nth: int = 1
    at: float | None = None
    partition: int = 0
    watermark: int | None = None
    """Of `topic` and `partition`."""
    command: str = ""
    """`fire name=...`."""

    @property
    def is_of_requests(self) -> bool:
        return self.at is None and self.watermark is None and not self.command


class Move(msgspec.Struct, eq=False):
    """A command that waits."""

    when: When
    said: Mapping[str, Any]
    left: int
    """How many times it is still to be done."""
    met: int = 0
    """How many requests of its kind there were."""

    @property
    def do(self) -> str:
        return str(self.said["do"])

    def fits(self, request: Request, topics: Callable[[Request], Collection[str]]) -> bool:
        when = self.when
        return (
            when.is_of_requests
            and when.api in ("", request.api)
            and when.client in ("", request.client)
            and when.broker in (None, request.broker)
            and (not when.topic or when.topic in topics(request))
        )


class Faults:
    """Commands to a cluster, and the moves that it was told of."""

    def __init__(
        self, world: ServedWorld, hang_up: Callable[[], None], go_on: Callable[[str], bool]
    ) -> None:
        """hang_up: on all clients. go_on: requests that wait for a command; whether any do."""
        self._world = world
        self._hang_up = hang_up
        self._go_on = go_on
        self.commands: dict[str, Command] = {
            **dict.fromkeys(ON_BROKERS, self._on_brokers),
            "move": lambda said: world.move(self._partition(said)),
            "elect": lambda said: world.elect(self._partition(said)),
            "create": lambda said: created(world, said),
            **{"heal": self._heal, "fire": self._fire, "reset": self._reset},
        }
        """By name; others add theirs."""
        self.moves: list[Move] = []
        self.invented = 0
        """Answers."""

    # --- Commands

    def command(self, said: Mapping[str, Any]) -> str:
        """Carries one out, or keeps it until its `when`. Returns what is wrong with it, or ""."""
        told = _TOLD.get(str(said.get("do")))
        if told is not None and (unknown := sorted(said.keys() - _EVERY - told)):
            # A fault that was to end after `last_ms` would stay, and nobody would know why.
            return f"{said['do']}: no {unknown[0]!r}; there are {', '.join(sorted(_EVERY | told))}"
        try:
            if isinstance(said.get("when"), Mapping):
                return self._keep(said) or ""
            if "when" in said and said.get("do") != "reset":
                return f'{said.get("do")}: when is a table, such as {{ api = "Produce" }}'
            wrong = self._run(said)
        except KeyError as missing:
            return f"{said.get('do')}: {missing} is missing"
        except (TypeError, ValueError, _Unknown) as error:
            return str(error) if isinstance(error, _Unknown) else f"{said['do']}: {error}"
        return wrong

    def _run(self, said: Mapping[str, Any]) -> str:
        """Returns what is wrong with it, or ""."""
        if "lasts_ms" not in said:
            return self._do(said)(said) or ""
        undo = {"do": UNDONE_BY.get(said["do"]), "broker": self._broker(said)}
        if undo["do"] is None or int(said["lasts_ms"]) < 1:
            return f"{said['do']} ends by itself: lasts_ms is of {', '.join(UNDONE_BY)}"

        def end(_: Any) -> None:
            self._do(undo)(undo)

        self._world.call(self._world.setup.of_clients(int(said["lasts_ms"])), end, 0)
        return self._do(said)(said) or ""

    def _do(self, said: Mapping[str, Any]) -> Command:
        found = self.commands.get(str(said.get("do")))
        if found is None:
            known = sorted(self.commands.keys() - {"heal", "restore"})
            raise _Unknown(f"no command {said.get('do')!r}; there are {', '.join(known)}")
        return found

    def _broker(self, said: Mapping[str, Any]) -> int:
        """A number, `coordinator`, or `leader of t-0`, `follower of t-0`."""
        who = str(said["broker"])
        found = _WHO.fullmatch(who)
        if found is None:
            raise ValueError(f"no broker {who!r}: a number, 'leader of t-0' or 'coordinator'")
        kind, topic, index, number = found.groups()
        if number is not None:
            if int(number) not in self._world.setup.brokers:
                raise ValueError(f"no broker {number}")
            return int(number)
        if kind is None:
            return self._world.offsets.controller.partition.leader
        partition = self._partition({"topic": topic, "partition": index})
        leader = partition.controller.partition.leader
        if kind == "leader":
            return leader
        return next((b for b in partition.brokers if b != leader), NOBODY)

    def _partition(self, said: Mapping[str, Any]) -> ServedPartition:
        found = self._world.partition(str(said["topic"]), int(said["partition"]))
        if found is None:
            raise ValueError(f"no partition {said['topic']}-{said['partition']}")
        return found

    def _brokers(self, said: Mapping[str, Any]) -> Collection[int]:
        if said["broker"] == "all" and said["do"] in OF_ALL:
            return self._world.setup.brokers
        return [self._broker(said)]

    def _on_brokers(self, said: Mapping[str, Any]) -> None:
        do, told = _DOES[said["do"]], self._brokers(said)
        more = _lost(said) if said["do"] == "kill" else ()
        for broker in told:
            do(self._world, broker, *more)

    def _heal(self, said: Mapping[str, Any]) -> None:
        """The end: clients are gone, and the cluster is to show that it makes progress."""
        self.moves.clear()
        self._hang_up()
        self._world.heal()

    def _fire(self, said: Mapping[str, Any]) -> str:
        """Moves that wait for a command of this name."""
        name = str(said["name"])
        fired = [move for move in self.moves if move.when.command == name]
        for move in fired:
            self._take(move)
        return "" if self._go_on(name) or fired else f"nothing waits for {name!r}"

    def _reset(self, said: Mapping[str, Any]) -> str:
        """The next `times` requests, as a move would be that says so."""
        asked = {key: said[key] for key in ("api", "client", "topic") if said.get(key)}
        if "broker" in said:
            asked["broker"] = self._broker(said)
        cut = {"do": "reset", "cut": str(said["when"]), "times": int(said.get("times", 1))}
        return self._keep({**cut, "when": asked}) or ""

    # --- Moves

    def _keep(self, said: Mapping[str, Any]) -> str | None:
        try:
            when = msgspec.convert(said["when"], When, strict=False)
        except msgspec.ValidationError as error:
            return f"when: {error}"
        wrong = self._wrong(when, said)
        if wrong:
            return wrong
        move = Move(when, said, int(said.get("times", 1)))
        self.moves.append(move)
        if when.at is not None:
            delay = max(0, int(when.at * 1_000_000) - self._world.now)
            self._world.call(delay, lambda _: self._take(move), 0)
        return None

    def _wrong(self, when: When, said: Mapping[str, Any]) -> str:
        """What a move cannot mean. What it names has to be there already."""
        do = said.get("do")
        if "lasts_ms" in said and (do not in UNDONE_BY or int(said["lasts_ms"]) < 1):
            return f"{do} ends by itself: lasts_ms is of {', '.join(UNDONE_BY)}"
        if when.api and when.api not in BY_KEY.values():
            names = ", ".join(sorted(BY_KEY.values()))
            return f"no API {when.api!r} is served; there are {names}"
        if when.nth < 1 or int(said.get("times", 1)) < 1:
            return "nth and times count from 1"
        if when.at is not None and when.at < 0:
            return f"at {when.at:g}: seconds since the cluster began"
        if when.broker is not None and when.broker not in self._world.setup.brokers:
            return f"no broker {when.broker}"
        if when.topic and self._world.partition(when.topic, when.partition) is None:
            return f"no partition {when.topic}-{when.partition}"
        if when.watermark is not None and not when.topic:
            return "a high watermark is that of a topic"
        if do not in ON_REQUESTS:
            self._do(said)
            if do in ON_BROKERS:
                self._brokers(said)
            if do == "kill":
                _lost(said)
            if do in ("move", "elect"):
                self._partition(said)
            return ""
        if not when.is_of_requests:
            return f"{do} is done to requests"
        if do == "reset" and said.get("cut") not in CUTS:
            return f"reset {said.get('cut')!r}: before or after the request is handled, or within"
        if do == "delay" and not said.get("until") and not int(said["ms"]) > 0:
            return "delay: ms above 0, or until a command"
        if do == "answer":
            if said["error"] not in ERRORS:
                return f"no error {said['error']!r}; there are {', '.join(sorted(ERRORS))}"
            if when.api not in INVENTED and not _has_error(when.api):
                return f"no answer of {when.api or 'any API'} is invented"
        return ""

    def _take(self, move: Move) -> None:
        """Its time has come."""
        if move not in self.moves:
            return
        move.left -= 1
        if not move.left:
            self.moves.remove(move)
        self._run(move.said)

    def meet(self, request: Request) -> None:
        """A request has arrived: who waited for it does what it was to do."""
        for move in list(self.moves):
            if not move.fits(request, self._topics):
                continue
            move.met += 1
            if move.met < move.when.nth:
                continue
            if move.do not in ON_REQUESTS:
                self._take(move)
                continue
            if request.cut or request.invented:
                # One thing is done to a request; the other waits for the next.
                move.met -= 1
                continue
            move.left -= 1
            if not move.left:
                self.moves.remove(move)
            if move.do == "reset":
                request.cut = str(move.said["cut"])
            elif move.do == "delay":
                request.until = str(move.said.get("until", ""))
                request.delay_ms = 0 if request.until else int(move.said["ms"])
            else:
                self.invented += 1
                request.invented = str(move.said["error"])

    def look(self, news: Collection[ServedPartition]) -> None:
        """Who waits for a high watermark."""
        for move in list(self.moves):
            when = move.when
            if when.watermark is None:
                continue
            partition = self._world.partition(when.topic, when.partition)
            if partition is None or partition not in news:
                continue
            if self._world.watermark(partition) >= when.watermark:
                self._take(move)

    def _topics(self, request: Request) -> set[str]:
        """Those that a request names."""
        body = request.body
        named = body.get("topic_data") or body.get("topics") or ()
        return {self._world.called(each) for each in named if isinstance(each, dict)}


class _Unknown(Exception):
    pass


def _lost(said: Mapping[str, Any]) -> tuple[bool, int, bool]:
    """Of a kill: lose, keep and torn. Raises ValueError, TypeError."""
    lose, torn = (said.get(name) in (True, "true") for name in ("lose", "torn"))
    keep = int(said.get("keep", 0))
    if keep < 0 or ((keep or torn) and not lose):
        raise ValueError("keep (0 or more) and torn are of batches that lose=true loses")
    return lose, keep, torn


# --- Answers that are invented


def _of_produce(body: Message, code: int) -> Message:
    def answer(_: Message, asked: Message) -> Message:
        return {"index": asked["index"], "error_code": code, "base_offset": -1}

    told = by_topic(body["topic_data"], answer, "partition_data", "partition_responses")
    return {"responses": told}


def _of_fetch(body: Message, code: int) -> Message:
    def answer(_: Message, asked: Message) -> Message:
        index = asked["partition"]
        return {"partition_index": index, "error_code": code, "high_watermark": -1}

    return {"responses": by_topic(body["topics"], answer)}


def _of_partitions(body: Message, code: int) -> Message:
    def answer(_: Message, asked: Message) -> Message:
        return {"partition_index": asked["partition_index"], "error_code": code}

    return {"topics": by_topic(body["topics"], answer)}


INVENTED: Final[Mapping[str, Callable[[Message, int], Message]]] = {
    "Produce": _of_produce,
    "Fetch": _of_fetch,
    "ListOffsets": _of_partitions,
    "OffsetCommit": _of_partitions,
    "TxnOffsetCommit": _of_partitions,
}
"""Of APIs that answer for each partition."""


def _has_error(api: str) -> bool:
    """Whether an answer has one error, in every version."""
    if not api:
        return False
    of = description(f"{api}Response")
    fields = [each.versions for each in of.fields if each.name == "error_code"]
    return any(each.first <= of.valid.first and of.valid.last in each for each in fields)


def invented(request: Request) -> Message:
    code = ERRORS[request.invented]
    made = INVENTED.get(request.api)
    return {"error_code": code} if made is None else made(request.body, code)
