"""Takes the commands out of a Markdown page, so that a test can run what a reader would type.

A command is a line that starts with `$ ` in a fence marked `console` or `sh`; a backslash at its
end goes on in the next line. What stands between commands is their output. A fence is one session:
its commands run in order in one shell, so that `cd` and exported variables last as long as the
reader expects, and no longer.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

FENCES = ("console", "sh")
# Names that look like fences of commands. A page uses one style, or commands go untested.
REFUSED = ("bash", "shell", "zsh", "shell-session", "terminal")
PROMPT = "$ "
TIMEOUT_S = 300

# What a command may start with to be run from here. A page that tells its reader to run anything
# else (to clone, to download, to install) must list that command and who tries it.
RUNNABLE = ("make", ".venv/bin/kraftcheck", ".venv/bin/python", ".venv/bin/pytest")


class Command(NamedTuple):
    line: int
    text: str


class Page(NamedTuple):
    sessions: list[list[Command]]
    # Fences that would hide commands from the test, as `line: what`.
    complaints: list[str]


class Witness(NamedTuple):
    """Who runs a command that is too long to run here: a file, and the text in it that does."""

    path: str
    text: str


def parse(text: str) -> Page:
    page = Page([], [])
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = re.match(r"\s*```\s*([\w-]*)", lines[number])
        number += 1
        if not opening:
            continue
        start = number
        while number < len(lines) and not lines[number].lstrip().startswith("```"):
            number += 1
        if number == len(lines):
            page.complaints.append(f"{start}: fence is never closed")
        number += 1
        read_fence(page, opening.group(1), start, lines[start : number - 1])
    return page


def read_fence(page: Page, language: str, line: int, body: list[str]) -> None:
    if language in REFUSED:
        page.complaints.append(f"{line}: fence is marked {language}, commands go into console")
    if language not in FENCES:
        return
    commands = commands_of(line + 1, body)
    if commands:
        page.sessions.append(commands)
    else:
        page.complaints.append(f"{line}: {language} fence has no line that starts with '{PROMPT}'")


def commands_of(first: int, body: list[str]) -> list[Command]:
    commands: list[Command] = []
    goes_on = False
    for line, raw in enumerate(body, first):
        text = raw.strip()
        if goes_on:
            commands[-1] = Command(commands[-1].line, f"{commands[-1].text}\n{text}")
        elif text.startswith(PROMPT):
            commands.append(Command(line, text.removeprefix(PROMPT)))
        else:
            continue
        goes_on = text.endswith("\\")
    return commands


def program_of(command: str) -> str:
    """The first word that is no assignment of a variable."""
    for word in shlex.split(command, comments=True):
        if not re.match(r"\w+=", word):
            return word
    return ""


def unknown(page: Page, elsewhere: Collection[str]) -> list[str]:
    """Commands that are neither run here nor listed as run by somebody else."""
    return [
        f"{command.line}: nobody runs `{command.text}`"
        for session in page.sessions
        for command in session
        if command.text not in elsewhere and program_of(command.text) not in RUNNABLE
    ]


def typed_env() -> dict[str, str]:
    """The environment without what an outer `make test` puts there for its own children."""
    return {name: value for name, value in os.environ.items() if "MAKE" not in name}


def run(session: list[Command], elsewhere: Collection[str], cwd: Path) -> str | None:
    """Runs the commands in one shell; returns None, or what failed and what it said."""
    here = [command for command in session if command.text not in elsewhere]
    # The line number goes out before each command, so that the last one names what failed.
    script = "".join(f"echo '@@ {command.line}' >&2\n{command.text}\n" for command in here)
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=cwd,
            env=typed_env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"{here[0].line}: takes more than {TIMEOUT_S} s"
    if done.returncode == 0:
        return None
    line, _, said = done.stderr.rpartition("@@ ")[2].partition("\n")
    text = {command.line: command.text for command in here}[int(line)]
    return f"{line}: `{text}` ends with exit code {done.returncode}\n{said}{done.stdout[-2000:]}"
