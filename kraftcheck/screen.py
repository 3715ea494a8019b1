"""What a command shows: results on stdout, how far it is on stderr.

Law of this file: stdout carries the result and nothing else, as aligned lines or, with `--json`, as
one JSON document; it is the same whether or not somebody watches. stderr carries progress: a bar on
a terminal, a plain line now and then elsewhere, nothing with `--quiet`. A verb that says nothing,
whatever it does, is told to be at work.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SILENCE_S = 1.5
"""Nothing was said for so long: it is time to. Without a terminal the next lines come when a
quarter of the time until then has gone once more, so that hours do not fill a log."""
PLAIN_GROWTH = 0.25
BEAT_S = 0.1
"""How often it is looked whether that is so: nobody waits for a word for more than two seconds."""

COMMAND = "kraftcheck "
"""A command is never wrapped: it is to be copied as it is."""

FURTHER_IN = 4
"""A line that goes on below begins there so many characters further in."""

LABEL = re.compile(r"\S{1,10} {2,}(?=\S)")
"""What a line of a legend begins with."""

LAST_MIN = 16
"""In fewer characters nothing is wrapped."""

COLOURS = {
    "holds": "green",
    "ok": "green",
    "violated": "red",
    "MISMATCH": "red",
    "REFUSED": "red",
    "unknown": "yellow",
    "found": "green",
    "apart": "green",
    "missed": "red",
    "surprise": "yellow",
}


class Meter(Protocol):
    """How far a piece of work has come."""

    def update(self, done: int, note: str = "") -> None:
        """So much is done; `note` is shown beside it."""


class Screen:
    """Where a command writes to; `json` and `quiet` are the options of the same names."""

    def __init__(self, *, json: bool = False, quiet: bool = False, results: bool = True) -> None:
        self.json = json
        self.quiet = quiet
        self.results = results
        self.lines: list[str] = []
        """What the verb printed, or would have; for the Python API (report.py)."""
        self.documents: list[Any] = []
        """Likewise, as JSON."""
        self.keeps = not results
        """Whether documents are kept that nobody prints: for a Report."""
        self.refusals: list[str] = []
        """Of several inputs, those that could not be read, and why."""
        self._pulse: _Pulse | None = None

    def without_results(self) -> Screen:
        """The same for a verb within a verb: its progress shows, its result does not."""
        inner = Screen(quiet=self.quiet, results=False)
        inner._pulse = self._pulse
        return inner

    @contextmanager
    def at_work(self, label: str, waited_s: float = 0.0) -> Iterator[None]:
        """Tell that the verb `label` is at work where nothing is printed for SILENCE_S.

        It says for how long. waited_s: how long nothing has been said already.
        """
        if self.quiet:
            yield
            return
        self._pulse = _Pulse(label, waited_s)
        try:
            yield
        finally:
            self._pulse.end()
            self._pulse = None

    def doing(self, what: str) -> None:
        """What the verb is at, for where it is told to be at work."""
        if self._pulse:
            self._pulse.what = what

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While this lasts, it is not the verb that is waited for: it need not say anything."""
        self._spoken(+1)
        try:
            yield
        finally:
            self._spoken(-1)

    def _spoken(self, held: int = 0) -> None:
        if self._pulse:
            self._pulse.spoken(held)

    def line(self, text: str = "") -> None:
        """A line of the result; nothing with `--json`.

        Where it is longer than the terminal is wide it goes on below, further in.
        """
        self.lines.append(click.unstyle(text))
        # Not click.echo, which writes past the stream that a bar puts in the place of stdout.
        if self.results and not self.json:
            self._spoken()
            shown = hanging(text, room_on_screen()) if sys.stdout.isatty() else click.unstyle(text)
            # A reader behind a pipe is not to wait until a buffer is full.
            print(shown, flush=True)

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Lines of a label and what it says; a line without a label belongs to the one above."""
        known = list(facts)
        width = max((len(label) for label, _ in known), default=0)
        room = room_on_screen()
        for label, said in known:
            space = None if said.startswith(COMMAND) else room and room - width - 2
            for at, part in enumerate(wrapped(said, space)):
                self.line(f"{(label if not at else '').ljust(width)}  {coloured(part, said)}")

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Aligned lines, as `Columns` has them, below their names."""
        columns = Columns(heads, rows)
        for row in (columns.head, *map(columns.row, rows)):
            self.line(row)

    def document(self, value: object) -> None:
        """The result as JSON, with `--json`."""
        self.documents.append(value)
        if self.results and self.json:
            self._spoken()
            print(json.dumps(value, indent=2, allow_nan=False))

    def entry(self, value: object) -> None:
        """One of several results: with `--json` one JSON object a line."""
        self.documents.append(value)
        if self.results and self.json:
            self._spoken()
            print(json.dumps(value, allow_nan=False), flush=True)

    def refuse(self, reason: str) -> None:
        """One of several inputs cannot be read; the others are judged all the same."""
        self.refusals.append(reason)
        if self.results:
            click.echo(f"{COMMAND.strip()}: {reason}", err=True)

    def note(self, text: str) -> None:
        """Something worth knowing that is no result."""
        if not self.quiet:
            self._spoken()
            click.echo(hanging(text, room_on_screen(sys.stderr)), err=True)

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Meter]:
        """A bar or plain lines for work of `total` pieces."""
        if self.quiet:
            yield _Silent()
            return
        last = self._pulse.last if self._pulse else monotonic()
        with self.waiting():
            if sys.stderr.isatty():
                with _bar(counted=True) as bar:
                    yield _Bar(bar, bar.add_task(label, total=total, note=""))
                return
            plain = _Plain(label, total, last)
            try:
                yield plain
            except BaseException:
                plain.stop()
                raise
            plain.end()


class _Silent:
    def update(self, done: int, note: str = "") -> None:
        pass


def _bar(*, counted: bool = False) -> Progress:
    # Late: only a terminal shows a bar.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
        # Lines of the result go above the bar only where both are on the same terminal.
        redirect_stdout=sys.stdout.isatty(),
    )


class _Bar:
    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def update(self, done: int, note: str = "") -> None:
        self._bar.update(self._task, completed=done, note=note)


class _Plain:
    """Lines now and then, whether or not the work says anything meanwhile: a thread sees to it.

    last: when something was said before, so that the first line does not come later for a new bar.
    """

    def __init__(self, label: str, total: int, last: float) -> None:
        self._label, self._total = label, total
        self._begin, self._last = monotonic(), last
        self._done, self._note = 0, ""
        self._lock, self._ended = Lock(), Event()
        self._pulse = Thread(target=self._beat, daemon=True)
        self._pulse.start()

    def update(self, done: int, note: str = "") -> None:
        self._done, self._note = done, note
        self._if_due()

    def stop(self) -> None:
        self._ended.set()
        self._pulse.join()

    def end(self) -> None:
        self.stop()
        self._note = ""
        self._say()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            self._if_due()

    def _if_due(self) -> None:
        with self._lock:
            now = monotonic()
            if now - self._last >= max(SILENCE_S, (self._last - self._begin) * PLAIN_GROWTH):
                self._last = now
                self._say()

    def _say(self) -> None:
        seconds = monotonic() - self._begin
        text = f"{self._label}: {self._done} of {self._total}, {seconds:.1f} s"
        click.echo(f"{text}, {self._note}" if self._note else text, err=True)


class _Pulse:
    """The sign of life of a verb between what it says: a bar without an end, or plain lines."""

    def __init__(self, label: str, waited_s: float) -> None:
        self._label = label
        self._begin = self._spoken = self.last = monotonic() - waited_s
        self._held = 0
        self.what = ""
        self._bar: Progress | None = None
        self._lock, self._ended = Lock(), Event()
        self._thread = Thread(target=self._beat, daemon=True)
        self._thread.start()

    def spoken(self, held: int = 0) -> None:
        """Something was said; where a bar moves, it makes room for that.

        held: 1 where others show from now on how far they are, -1 where they have ended.
        """
        with self._lock:
            self._held += held
            self._spoken = self.last = monotonic()
            if self._bar:
                self._bar.stop()
                self._bar = None

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self.spoken()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with self._lock:
                self._if_due(monotonic())

    def _if_due(self, now: float) -> None:
        due = max(SILENCE_S, (self.last - self._spoken) * PLAIN_GROWTH)
        if self._held or self._bar or now - self.last < due:
            return
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.add_task(f"{self._label}: at work", note=self.what, total=None)
            self._bar.start()
        else:
            self.last = now
            doing = f", {self.what}" if self.what else ""
            click.echo(f"{self._label}: at work, {now - self._begin:.1f} s{doing}", err=True)


class Columns:
    """Aligned lines; None is a dash.

    heads: the columns' names, with ">" in front of those to be aligned to the right. rows: what is
    going to be printed, as far as it is known, to find the widths. room: of a line; unless it is
    given, that of the terminal, and without one no line is broken. In less room than a line needs
    the last column goes on below itself, and where that has no room every cell has a line.
    """

    def __init__(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[object]] = (),
        room: int | None = None,
    ) -> None:
        self._room = room or room_on_screen()
        self._right = [head.startswith(">") for head in heads]
        self._heads = [head.removeprefix(">") for head in heads]
        self._widths = [len(head) for head in self._heads]
        for row in rows:
            for k, cell in enumerate(row):
                self._widths[k] = max(self._widths[k], len(_text(cell)))

    @property
    def head(self) -> str:
        return self.row(self._heads)

    def row(self, cells: Sequence[object]) -> str:
        whole = self._whole(cells)
        if self._room is None or len(click.unstyle(whole)) <= self._room:
            return whole
        lead = sum(self._widths[:-1]) + 2 * (len(cells) - 1)
        if lead + LAST_MIN > self._room:
            return self._one_below_another(cells)
        first, *rest = wrapped(_text(cells[-1]), self._room - lead)
        begun = self._whole([*cells[:-1], first])
        return "\n".join([begun, *(" " * lead + part for part in rest)])

    def _one_below_another(self, cells: Sequence[object]) -> str:
        words = [_text(cell) for cell in cells]
        if words == self._heads:
            return words[0]
        room = self._room or 0
        width = max(map(len, self._heads[1:])) + 1
        if room - width - 3 < LAST_MIN:
            width = 0
        told = [
            f"  {'' if at else head:{width}} {part}"
            for head, said in zip(self._heads[1:], words[1:], strict=True)
            if said != "-"
            for at, part in enumerate(wrapped(said, room - max(width, len(head)) - 3))
        ]
        return "\n".join([words[0], *told])

    def _whole(self, cells: Sequence[object]) -> str:
        return "  ".join(self._cell(k, _text(cell)) for k, cell in enumerate(cells)).rstrip()

    def _cell(self, k: int, text: str) -> str:
        # The last column is not padded: the blanks would be coloured, and so would stay.
        width = 0 if k == len(self._widths) - 1 else self._widths[k]
        padded = text.rjust(self._widths[k]) if self._right[k] else text.ljust(width)
        return coloured(padded, text)


def room_on_screen(stream: TextIO | None = None) -> int | None:
    """The terminal's width; None where lines go elsewhere, to be taken apart by programs.

    stream: what they are written to; stdout unless it is given.
    """
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def wrapped(text: str, room: int | None) -> list[str]:
    """The text in lines of so many characters; what has no room at all stays whole."""
    if room is None or room < LAST_MIN or len(text) <= room:
        return [text]
    return textwrap.wrap(text, room, break_on_hyphens=False) or [""]


def hanging(text: str, room: int | None) -> str:
    """Wrap the text, later lines further in or below what the label says.

    What names a command stays whole.
    """
    if "\n" in text:
        return "\n".join(hanging(line, room) for line in text.split("\n"))
    if room is None or len(click.unstyle(text)) <= room or COMMAND in text:
        return text
    label = LABEL.match(text)
    lead = len(text) - len(text.lstrip()) + FURTHER_IN
    # A multiple, so that lines which begin with numbers of several widths go on below each other.
    inside = label.end() if label else -(-lead // FURTHER_IN) * FURTHER_IN
    if room - inside < LAST_MIN:
        return text
    indent = " " * inside
    return "\n".join(
        textwrap.wrap(text, room, subsequent_indent=indent, break_on_hyphens=False, tabsize=4)
    )


def coloured(text: str, word: str) -> str:
    """The text in the colour of a verdict; click leaves the colour out where there is no screen."""
    colour = COLOURS.get(word)
    return click.style(text, fg=colour) if colour else text


def _text(cell: object) -> str:
    if cell is None or cell == "":
        return "-"
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)
