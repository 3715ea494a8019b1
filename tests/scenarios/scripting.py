"""Commands of a script as the public methods of a class: finding them, and calling them with words.

Law of this file: nothing here knows a protocol. A command that means nothing is a ScriptError: one
line that begins with file and line.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable

from tests.scenarios.transcript import ScriptError


class WrongArgument(Exception):
    """What a command was given makes no sense; whoever reads the script adds file and line."""


class Commands:
    """What a transcript drives. Each public method of a subclass is a command, which adds what it
    prints to `_out`.
    """

    def __init__(self, name: str) -> None:
        """name: of the transcript, for what is told of its mistakes."""
        self._name = name
        self._out: list[str] = []

    def __call__(self, command: str, line: int) -> list[str]:
        """Executes one command and returns all that it printed."""
        word, *given = command.split()
        self._out = []
        try:
            _call(word, self._command(word), given)
        except WrongArgument as wrong:
            raise ScriptError(f"{self._name}:{line}: {wrong}") from None
        return self._out or ["nothing happens"]

    def _command(self, word: str) -> Callable[..., None]:
        known = self._commands()
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise WrongArgument(f"unknown command {word!r}; {hint}")
        function: Callable[..., None] = getattr(self, known[word])
        return function

    @classmethod
    def _commands(cls) -> dict[str, str]:
        """From the commands, as scripts write them, to the methods."""
        return {
            name.replace("_", "-"): name
            for name, member in vars(cls).items()
            if not name.startswith("_") and callable(member)
        }


def _call(word: str, function: Callable[..., None], given: list[str]) -> None:
    """Calls a command with the words of a script, each made what the signature says."""
    wanted = inspect.signature(function, eval_str=True).parameters
    positional = [p for p in wanted.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    options = {p.name.replace("_", "-"): p for p in wanted.values() if p.kind is p.KEYWORD_ONLY}
    values = [each for each in given if "=" not in each]
    usage = " ".join(
        [word, *(p.name.upper() for p in positional), *(f"[{name}=...]" for name in options)]
    )
    if len(values) != len(positional):
        raise WrongArgument(f"{word!r} takes {len(positional)} arguments: {usage}")
    named = {}
    for name, _, value in (each.partition("=") for each in given if "=" in each):
        if name not in options:
            raise WrongArgument(f"{word!r} has no option {name!r}: {usage}")
        named[options[name].name] = _value(options[name], value)
    function(*(_value(p, v) for p, v in zip(positional, values, strict=True)), **named)


def _value(parameter: inspect.Parameter, word: str) -> int | str:
    if parameter.annotation is not int:
        return word
    if not re.fullmatch(r"[0-9]+", word):
        raise WrongArgument(f"{parameter.name} is a number, not {word!r}")
    return int(word)
