"""`serve`: a cluster for unmodified clients, and its verdict when it is stopped; or a tape."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.kafka.serve import plans
from kraftcheck.kafka.serve.front import Front
from kraftcheck.kafka.serve.judging import Conformed, ServedVerdict, command_of, conformed, judged
from kraftcheck.kafka.serve.world import Setup
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.screen import Screen

T = TypeVar("T")
FILES: Final = 10_000
COLLECTED: Final = (20_000, 50, 100)


def serve(
    *,
    brokers: int,
    port: int,
    no_auto_create: bool,
    bug: str | None,
    plan: Path | None,
    scenario: plans.Plan,
    certificate: Path | None,
    out: Path | None,
    data: Path | None,
    admin_port: int,
    judge: int,
    until_eof: bool,
    log: bool,
    screen: Screen,
    **cluster: Any,
) -> int:
    """Serve until SIGINT, SIGTERM or the command `quit`; then judge. Returns the exit code.

    port: of the first broker; 0: any are. plan: a file of moves. scenario: moves before those.
    certificate: a PEM file with its key, for TLS. judge: how many steps TLC judges at most; 0:
    none. until_eof: end when standard input does, so that no child outlives whoever started it.
    data: where brokers keep their logs, and begin with what is there. cluster: what else it is, as
    `Setup` has it. Raises BadInput: a port is taken, a plan that means nothing, no certificate,
    logs of something else.
    """
    tls = None if certificate is None else _tls(certificate)
    moves = [*scenario, *(() if plan is None else plans.read(plan))]
    _allow_files()
    # What a cluster keeps is in no circles, and there is much of it.
    gc.set_threshold(*COLLECTED)
    setup = Setup(
        ports=tuple([port and port + broker for broker in range(brokers)]),
        auto_create=not no_auto_create,
        bug=None if bug is None else known_bug(bug, "partition").id,
        **cluster,
    )
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    with _folder(out) as folder:
        say = partial(click.echo, err=True) if log else lambda line: None
        front = Front(setup, folder, say, moves, tls, data)
        protocol = "SASL_PLAINTEXT" if tls is None else "SASL_SSL"
        serving = _serve(front, protocol, admin_port, until_eof, screen)
        *earlier, found = _with_room(lambda: asyncio.run(serving))
        # Loops leave the default behind, which would not end a JVM that we start.
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
        return _tell(found, folder, judge, screen, earlier)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder for tapes; one of ours goes again if nothing was kept in it."""
    folder = Path(tempfile.mkdtemp(prefix="kraftcheck-serve-")) if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        if out is None:
            with suppress(OSError):
                folder.rmdir()


def _with_room(work: Callable[[], T]) -> T:
    return work()


# CPython keeps the frames of functions in pieces of 16 kB, and gives a piece back to the system as
# soon as the first function in it returns (Python/pystate.c, _PyThreadState_PopFrame). Where a loop
# calls across the edge of a piece, that is each time. This frame is as large as to have a piece of
# which enough is left for all that it calls.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=9000)


def _allow_files() -> None:
    """A connection is an open file, of which few are allowed unless more are asked for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _tls(certificate: Path) -> ssl.SSLContext:
    """Raises BadInput: no certificate, or no key with it."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        tls.load_cert_chain(certificate)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(f"{certificate}: no certificate with its key: {error}") from None
    return tls


async def _serve(
    front: Front, protocol: str, admin_port: int, until_eof: bool, screen: Screen
) -> list[ServedVerdict]:
    try:
        await front.start(admin_port)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, front.stopped.set)
        if until_eof:
            try:
                loop.add_reader(sys.stdin, _end_with_input)
            except OSError:
                raise BadInput("--until-eof: standard input is no pipe, and has no end") from None
        _announce(front, screen, protocol)
        with screen.waiting():
            await front.stopped.wait()
        if front.failed:
            raise BadInput(f"{front.failed}; the recording ends there: {front.tape}")
        screen.note("ended: what it did, and what clients saw, is judged")
        front.end()
        return front.ended
    finally:
        front.close()


def _end_with_input() -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        raise SystemExit(exits.UNKNOWN)


def _announce(front: Front, screen: Screen, protocol: str) -> None:
    """protocol: of those who log in."""
    setup = front.setup
    said = {
        "bootstrap.servers": front.bootstrap,
        "host": setup.host,
        "ports": list(setup.ports),
        "admin_port": front.admin_port,
        "tape": str(front.tape),
    }
    if screen.json:
        print(json.dumps(said), flush=True)
        return
    screen.line(f"bootstrap.servers={front.bootstrap}")
    if setup.users:
        screen.line(f"security.protocol={protocol}")
        screen.line(f"users: {', '.join(name for name, _ in setup.users)}")
    elif protocol == "SASL_SSL":
        screen.line("security.protocol=SSL")
    screen.line(f"faults by hand: kraftcheck ctl --port {front.admin_port} kill broker=1")
    screen.line(f"recording: {front.tape}; Ctrl-C ends the cluster and checks it")
    sys.stdout.flush()


def replay(tape: Path, *, out: Path | None, judge: int, screen: Screen) -> int:
    """Play a tape again and judge it. Returns the exit code. Raises BadInput: it is no tape."""
    with _folder(out) as folder:
        return _tell(judged(tape), folder, judge, screen)


def shrink(tape: Path, *, out: Path | None, screen: Screen) -> int:
    """Leave moves out of a tape as long as the same promise is broken; print those that are left.

    Returns the exit code. Raises BadInput: no tape, or no promise is broken.
    """
    target = tape.with_name(f"{tape.name}-shrunk") if out is None else out / tape.name
    found = plans.shrunk(tape, target)
    screen.facts(
        [
            ("broken", found.promise),
            ("moves", f"{len(found.kept)} are needed, {found.removed} are not"),
            *[("", json.dumps(each)) for each in found.kept],
            ("again", command_of(found.tape)),
        ]
    )
    document = {"promise": found.promise, "kept": found.kept, "removed": found.removed}
    screen.document(document | {"tape": str(found.tape), "verdict": "violated"})
    return exits.VIOLATED


def _tell(
    found: ServedVerdict,
    folder: Path,
    judge: int,
    screen: Screen,
    earlier: Sequence[ServedVerdict] = (),
) -> int:
    """earlier: of the clusters that `ctl end` ended."""
    steps: Conformed | None = None
    if judge:
        from kraftcheck.traces.jobs.conform import ConformOptions

        place = folder / "trace"
        kept = f"the tape is kept, and this judges it: {command_of(Path(found.tape))}"
        with (
            exits.told_what_is_kept(kept),
            screen.without_results().progress("steps", found.steps) as meter,
        ):
            meter.update(0, "the tape is played for them, and TLC judges them")
            steps = conformed(Path(found.tape), place, judge, ConformOptions(), meter.update)
            meter.update(found.steps)
    codes = [exits.code_of(each.verdict) for each in (*earlier, found)]
    codes += [exits.code_of(steps.verdict)] if steps else []
    verdict = exits.VERDICTS[exits.worst(codes)]
    reasons = [f"{each.tape}: {reason}" for each in earlier for reason in each.reasons]
    reasons += [*found.reasons, *(steps.reasons if steps else [])]
    told = f"{found.steps:,} played"
    # Whoever looks at invariants stops where one is violated; TLC is given the whole tape.
    told += ", up to the violation" if found.verdict == exits.VERDICTS[exits.VIOLATED] else ""
    told += f"; TLC judged {steps.judged:,}" if steps else "; TLC was not asked (--judge 0)"
    screen.facts(
        [
            ("verdict", verdict),
            ("answers", f"{found.answers:,} to {found.arrivals:,} arrivals, equal when replayed"),
            *([("invented", f"{found.invented:,} answers")] if found.invented else []),
            ("steps", told),
            *[("", reason) for reason in reasons],
            ("again", found.command),
        ]
    )
    document = msgspec.to_builtins(found)
    if earlier:
        document["earlier"] = msgspec.to_builtins(earlier)
    if steps is not None:
        document["conform"] = msgspec.to_builtins(steps)
    screen.document(document | {"verdict": verdict, "reasons": reasons})
    return exits.worst(codes)


def command(port: int, do: str, said: dict[str, str], screen: Screen) -> int:
    """Send a command to a served cluster, and print what it answers.

    Returns the exit code: that of a verdict, if it is one. Raises BadInput: refused.
    """
    from kraftcheck.kafka.serve.admin import Cluster, CommandError

    try:
        cluster = Cluster("127.0.0.1", port, "")
        found = cluster.command(do, **said)
    except CommandError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(
            f"port {port}: {error.strerror or error}; `kraftcheck serve` says which port is its own"
        ) from None
    done = " ".join([do, *(f"{name}={value}" for name, value in said.items())])
    screen.line(json.dumps(found, indent=2) if found else f"done: {done}")
    screen.document(found)
    return exits.code_of(found["verdict"]) if "verdict" in found else exits.HOLDS
