"""What verbs of several groups share: types of values, options, and decorators of many options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.osutil import age
from kraftcheck.screen import COMMAND, Screen

OWN_PROCESS = "own process"
"""The root context's object where this process was started for one command."""


class _Local(click.Path):
    """A path of this machine. Of `s3a://...` a folder `s3a:` would be made."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if found := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", str(value)):
            said = f"{value}: only folders of this machine are read and written, not {found[1]}:"
            self.fail(said, param, ctx)
        return super().convert(value, param, ctx)


FOLDER = _Local(path_type=Path)
THERE = _Local(path_type=Path, exists=True)
"""For verbs that would otherwise ask for more before they notice that nothing is there."""


class _Page(_Local):
    """A file that can be written: whoever names another is told before anything is judged."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.is_dir():
            self.fail(f"{path} is a folder; name a file to write to", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        return path


class Real(click.FloatRange):
    """A number that time can be counted by: neither `nan`, which is in every range, nor endless."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if not found <= MOST:
            self.fail(f"{value!r} is no number of at most {MOST:,}", param, ctx)
        return found


PAGE = _Page(path_type=Path)
MOST = 10**9
RUNS = click.IntRange(1, 10**9)

SEED = click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed of all random choices."
)
BUG = click.option("--bug", metavar="ID", help="Run with this known bug; see `bugs list`.")
RULES = click.option(
    "--rules", type=FOLDER, metavar="FILE", help="Rules of your own in place of a bug's; see `try`."
)
JAR = click.option("--jar", help="The TLC jar; default: TLA2TOOLS_JAR, or the bundled one.")
JAVA = click.option("--java", help="The Java launcher; default: JAVA_HOME, or the one on PATH.")


def renaming(names: Mapping[str, str]) -> type[click.Command]:
    """A command that still takes options by their old names, and prints the new ones."""

    class Renaming(click.Command):
        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            end = args.index("--") if "--" in args else len(args)
            for at, word in enumerate(args[:end]):
                old, equals, value = word.partition("=")
                if new := names.get(old):
                    click.echo(f"{COMMAND.strip()}: {old} is called {new} now", err=True)
                    args[at] = f"{new}{equals}{value}"
            return super().parse_args(ctx, args)

    return Renaming


class Renamed(click.Choice[str]):
    """A choice that still takes values by their old names, and prints the new ones."""

    def __init__(self, choices: Sequence[str], old: Mapping[str, str]) -> None:
        super().__init__(choices)
        self.old = old

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if new := self.old.get(value):
            click.echo(f"{COMMAND.strip()}: {value} is called {new} now", err=True)
        return super().convert(new or value, param, ctx)


def shown(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options --json and --quiet, as one Screen."""
    return _on_screen(verb, "Print one JSON document.")


def judged(verb: Callable[..., int]) -> Callable[..., int]:
    """As `shown`, for a verb that ends in a verdict: further options report it to a CI server."""
    return shown(_reported(verb))


def lines(verb: Callable[..., int]) -> Callable[..., int]:
    """As `judged`, for a verb that prints a line for each of many things."""
    return _on_screen(_reported(verb), "Print one JSON object a line.")


def _reported(verb: Callable[..., int]) -> Callable[..., int]:
    @click.option("--junit", type=PAGE, metavar="FILE", help="Write the verdicts as JUnit XML.")
    @click.option(
        "--github",
        is_flag=True,
        help="Annotate the workflow and write its summary; on by default in GitHub Actions.",
    )
    @wraps(verb)
    def wrapped(junit: Path | None, github: bool, screen: Screen, **options: Any) -> int:
        github = github or os.environ.get("GITHUB_ACTIONS") == "true"
        if junit is None and not github:
            return verb(screen=screen, **options)
        # Late: most commands report to nobody.
        from kraftcheck.api.ci import reported

        label = click.get_current_context().command_path.removeprefix(COMMAND)
        return reported(label, junit, github, screen, lambda: verb(screen=screen, **options))

    return wrapped


def _on_screen(verb: Callable[..., int], printed: str) -> Callable[..., int]:
    @click.option("--json", "as_json", is_flag=True, help=printed)
    @click.option("--quiet", is_flag=True, help="Show no progress.")
    @wraps(verb)
    def wrapped(as_json: bool, quiet: bool, **options: Any) -> int:
        screen = Screen(json=as_json, quiet=quiet)
        context = click.get_current_context()
        # Before the verb imports what it works with, which alone takes seconds on a busy machine;
        # so does what a process imports before it comes to here. (A test's process is older.)
        waited_s = age.seconds() if context.find_root().obj == OWN_PROCESS else 0.0
        label = context.command_path.removeprefix(COMMAND)
        with screen.at_work(label, waited_s), exits.begun_anew():
            return verb(screen=screen, **options)

    return wrapped


def tools(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that choose the TLC jar and Java."""
    return JAR(JAVA(verb))


MASTER = click.option("--master", help="Spark's master, such as local[2]; implies Spark.")


def placed(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that say where the work is done, and with which Java."""
    backend = click.option(
        "--backend",
        type=click.Choice(["auto", "pool", "spark"]),
        default="auto",
        show_default=True,
        help="Processes on this machine, or Spark; auto takes Spark for long campaigns.",
    )
    return backend(MASTER(JAVA(verb)))
