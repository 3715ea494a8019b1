"""A node of somebody else's: a process that is told inputs, a line each, and answers each by one.

    told     {"node": 1, "constants": {...}}        a new node begins
    answer   the header of its trace                {"format": ..., "constants": ..., "rows": ...}
    told     {"input": {...}}                       a message, a timer, a crash, a client's request
    answer   the line of the step                   {"after": {...}, "sent": [...], "ignored": ""}
    or       {"notTaken": "why"}                    this node cannot take such an input; nothing
                                                    has happened

Lines are those of docs/foreign-traces.md, so that an emitter that writes to stdout is the answer.

Law of this file: nothing is judged; what cannot be read is refused with the command and the line.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import IO, Any, Final, Protocol

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.osutil.children import end, started

ANSWER_S: Final = 20.0
"""How long an answer may take; the first one includes the start of the process."""
SHOWN: Final = 120
LONGEST: Final = 1 << 24


class Asked(Protocol):
    """What is told lines and answers them."""

    told: int
    """Lines so far."""

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line, an object. Raises BadInput."""
        ...

    def refused(self, what: str) -> BadInput:
        """The error of an answer."""
        ...


class Node:
    """The process. Use `running`."""

    def __init__(self, process: Popen[bytes], said: IO[bytes], command: str) -> None:
        self._process, self._said, self._command = process, said, command
        self._read = b""
        self.told = 0
        """Lines so far."""

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line, an object. Raises BadInput."""
        stdin = self._process.stdin
        assert stdin is not None
        self.told += 1
        try:
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except OSError:
            raise self._ended() from None
        text = self._line()
        try:
            answer = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self.refused(f"no JSON object: {_shown(text)}")
        return answer

    def refused(self, what: str) -> BadInput:
        """The error of an answer."""
        return BadInput(f"{self._command}: answer {self.told}: {what}")

    def _line(self) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        while b"\n" not in self._read:
            if not select.select([stdout], [], [], ANSWER_S)[0]:
                raise self.refused(
                    f"none within {ANSWER_S:g} s: a line is to be written, and flushed, for each "
                    "line that is read"
                )
            piece = os.read(stdout.fileno(), 1 << 16)
            if not piece:
                raise self._ended()
            self._read += piece
            if len(self._read) > LONGEST:
                raise self.refused("it is longer than 16 MiB")
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _ended(self) -> BadInput:
        code = self._process.wait()
        self._said.seek(0)
        said = self._said.read(1 << 16).decode(errors="replace").strip().split("\n")
        return self.refused(f"the process ended with {code}: {said[-1][:SHOWN]}".rstrip(": "))


def _shown(text: bytes) -> str:
    return repr(text.decode(errors="replace")[:SHOWN])


@contextmanager
def running(command: Sequence[str]) -> Iterator[Node]:
    """The process of a command, until the block ends. Raises BadInput: there is no such program."""
    if shutil.which(command[0]) is None:
        raise BadInput(f"{command[0]}: no such program")
    with (
        tempfile.TemporaryFile() as said,
        started(command, fed=True, stdout=PIPE, stderr=said) as process,
    ):
        try:
            yield Node(process, said, shlex.join(command))
        finally:
            end(process)
