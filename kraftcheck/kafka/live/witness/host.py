"""The JVM that a witness lives in: moves go in as lines, and each is answered by one.

Law of this file: it knows neither a protocol nor what a move is. The JVM ends with its host, or
with us, however that comes (kraftcheck/osutil/children.py); one that does not answer is ended.
"""

from __future__ import annotations

import os
import select
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from subprocess import PIPE, Popen
from typing import IO, Final

from kraftcheck.kafka.live.witness.jars import ClassPath, program
from kraftcheck.osutil.children import end, started
from kraftcheck.osutil.java import BRIEF

ANSWER_S: Final = 60.0
"""How long a move may take; it takes some 30 us."""
AHEAD: Final = 1 << 15
"""Bytes of moves that are sent before answers are read: less than a pipe holds, so that nobody
waits for the other."""
OPTIONS: Final = (
    "-Xmx512m",
    *BRIEF,
    "-XX:-UsePerfData",
    "-Xshare:auto",
    # The jars of Kafka's tests have a configuration that logs each step of a role.
    "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory",
    "-Dorg.apache.logging.log4j.simplelog.level=OFF",
)

REFUSED: Final = "!"
UNSENT: Final = "-"
THROWN: Final = "*"
ENDED: Final = "?"
"""With what an answer begins that is no step (java/kraftcheck/witness/Host.java)."""


class WitnessError(Exception):
    """Kafka cannot be driven. The text is one line."""


class Host:
    """A JVM that is asked. Use `running`."""

    def __init__(self, process: Popen[bytes], said: IO[bytes], what: str) -> None:
        self._process = process
        self._said = said
        self._what = what
        self._read = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, moves: Sequence[str]) -> list[str]:
        """The answer to each of these moves, in order. Raises WitnessError."""
        answers: list[str] = []
        batch: list[bytes] = []
        size = 0
        for move in moves:
            line = f"{move}\n".encode()
            if batch and size + len(line) > AHEAD:
                answers += self._asked(batch)
                batch, size = [], 0
            batch.append(line)
            size += len(line)
        return answers + self._asked(batch)

    def _asked(self, lines: list[bytes]) -> list[str]:
        try:
            self._tell(b"".join(lines))
        except OSError:
            raise self._ended() from None
        return [self._line() for _ in lines]

    def _tell(self, text: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(text)
        stdin.flush()

    def _line(self) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        pieces = [self._read]
        while b"\n" not in pieces[-1]:
            if not select.select([stdout], [], [], ANSWER_S)[0]:
                raise WitnessError(f"{self._what}: no answer within {ANSWER_S:g} s")
            piece = os.read(stdout.fileno(), 1 << 16)
            if not piece:
                raise self._ended()
            pieces.append(piece)
        line, _, self._read = b"".join(pieces).partition(b"\n")
        answer = line.decode()
        if answer.startswith(ENDED):
            raise WitnessError(f"{self._what}: {answer.removeprefix(ENDED)}")
        return answer

    def _ended(self) -> WitnessError:
        code = self._process.wait()
        self._said.seek(0)
        said = self._said.read(1 << 16).decode(errors="replace").split("\n")
        last = next((line for line in said if line.strip() and "SLF4J" not in line), "")
        return WitnessError(f"{self._what}: the JVM ended with {code}: {last}")


@contextmanager
def running(
    path: ClassPath, constants: str, logs: str = "", disks: str = "", answers: str = "number"
) -> Iterator[Host]:
    """A host of these classes.

    constants: who takes part, as JSON. logs: a folder for the voters' real logs; without one, that
    of Kafka's tests. disks: a folder for what brokers have on disk. answers: how one finds its
    request, by Kafka's number or by content.

    Raises WitnessError while it is asked; ArtifactError: there is no Java.
    """
    what = f"Apache Kafka {path.version}" + (f" with {path.own}" if path.own else "")
    words = [program("java"), *OPTIONS, f"-Dwitness.logs={logs}", f"-Dwitness.disks={disks}"]
    words += [f"-Dwitness.answers={answers}", f"-Dwitness.own={path.own or ''}"]
    words += ["-cp", ":".join(path.entries)]
    words += [path.host, path.node]
    with (
        tempfile.TemporaryFile() as said,
        started(words, fed=True, stdout=PIPE, stderr=said) as process,
    ):
        host = Host(process, said, what)
        try:
            with suppress(OSError):
                host._tell(f"{constants}\n".encode())
            yield host
        finally:
            end(process)
