"""What is asked of a judgement, what it says of the history itself, and where its page goes."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from kraftcheck import artifacts
from kraftcheck.osutil import commands
from kraftcheck.traces.history import FAIL, INDETERMINATE, History
from kraftcheck.traces.report.judged import JudgedHistory

if TYPE_CHECKING:
    from kraftcheck.traces.rows import Rows

AUTO = "auto"
PAGES_MAX = 20
"""Of a trace, so many runs get a page."""
TOO_LONG: Final = "what takes too long"
"""Of transactions and members of groups; it needs times, by which it is told."""
NOT_RECORDED: Final = "not recorded"
TWO_SIDED = ("elr", "complete", "idempotent")
"""Options that are on, off, or not given."""


class Options(NamedTuple):
    """What was asked for, besides the paths.

    format, model: by name, or auto.
    """

    format: str = AUTO
    model: str = AUTO
    level: str | None = None
    """To be held against, in place of the one that the configuration promises."""
    budget: float = 60.0
    """Seconds for each object of a history that needs a search."""
    run: int | None = None
    """Of a trace, this one alone."""
    configuration: Mapping[str, Any] = {}
    """What the promises depend on, as given."""
    html: str = "pages"
    """The folder of pages, in the command that judges again."""
    failed_cas: str | None = None
    """What a compare-and-set that failed means, else what its format means."""
    initial: str | None = None
    """The value of registers that nobody wrote, as EDN."""


class PageWriter:
    """Writes the page of a history, and what was found as JSON beside it, into a folder of ours."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written: list[str] = []

    def write(self, history: History, judged: JudgedHistory) -> None:
        # Late: only who wants pages waits for the template engine.
        from kraftcheck.traces.report.history import render

        name = page_name(judged.file)
        facts = json.dumps(msgspec.to_builtins(judged), indent=2, allow_nan=False)
        artifacts.write_whole(self._folder / f"{name}.json", facts + "\n")
        path = self._folder / f"{name}.html"
        artifacts.write_whole(path, render(history, judged))
        self.written.append(str(path))


def page_name(source: str) -> str:
    """A file's name for a page: readable, and its own for every source."""
    readable = re.sub(r"[^\w.-]+", "-", source).strip("-.")[-80:]
    return f"{readable}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"


def facts_of(history: History | Rows, model: str, options: Options) -> dict[str, Any]:
    """What a judgement says of the history itself."""
    if not isinstance(history, History):
        # Late, as in detect.py.
        import numpy as np

        _, first = np.unique(history.number, return_index=True)
        codes, names = history.outcome.codes[first], history.outcome.names
        outcomes = Counter(names[code] for code in codes.tolist())
        processes, note = len(np.unique(history.process)), None
    else:
        outcomes = Counter(each.outcome for each in history.operations)
        processes = len({each.process for each in history.operations})
        note = history.note
    return {
        "file": history.source,
        "format": history.format,
        "model": model,
        "operations": outcomes.total(),
        "indeterminate": outcomes[INDETERMINATE],
        "failed": outcomes[FAIL],
        "processes": processes,
        "unit": history.time_unit,
        "note": note or "",
        "command": command(history.source, options),
    }


def command(source: str, options: Options) -> str:
    """The command that judges this history again, and makes its page."""
    path, _, run = (
        source.rpartition("#") if source.rpartition("#")[2].isdigit() else (source, "", "")
    )
    words = ["check", path]
    words += ["--run", run] if run else []
    given = {"format": options.format, "model": options.model, "level": options.level or AUTO}
    given |= {"failed-cas": options.failed_cas or AUTO, "initial": options.initial or AUTO}
    for name, value in given.items():
        words += [f"--{name}", str(value)] if value != AUTO else []
    words += ["--budget", f"{options.budget:g}"] if options.budget != Options().budget else []
    words += given_words(options.configuration)
    return commands.command(*words, "--html", options.html)


def given_words(configuration: Mapping[str, Any]) -> list[str]:
    """What was said of the configuration, as options of the command line, in the order of names."""
    words: list[str] = []
    for name, value in sorted(configuration.items()):
        option = name.replace("_", "-")
        if value is True:
            words.append(f"--{option}")
        elif value is False and name in TWO_SIDED:
            words.append(f"--no-{option}")
        elif value not in (None, False):
            words += [f"--{option}", str(value)]
    return words
