"""The command line as one group of verbs. What each is given is in verbs/, by groups of verbs."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.verbs import (
    bugs,
    campaigns,
    clusters,
    histories,
    manual,
    models,
    options,
    runs,
    serve,
    storage,
    witness,
)


class Verbs(click.Group):
    """A group whose errors are one line each and whose exit codes are ours (see exits.py)."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra |= {"standalone_mode": False, "prog_name": extra.get("prog_name") or "kraftcheck"}

        def work() -> int | None:
            code: int | None = super(Verbs, self).main(*args, **extra)
            sys.stdout.flush()
            return code

        sys.exit(exits.guarded(work))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By groups; a group of verbs below this one has them in one list."""
        if self is not cli:
            super().format_commands(ctx, formatter)
            return
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                told = [(each.name or "", each.get_short_help_str(width)) for each in verbs]
                formatter.write_dl(told, col_max=12)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Click would exit with 1, which means something else here.
            raise exits.ReaderLeft from error


@click.group(
    "kraftcheck",
    cls=Verbs,
    context_settings={"help_option_names": ["--help"], "max_content_width": 99},
)
@click.version_option(
    package_name="kraftcheck", prog_name="kraftcheck", message="%(prog)s %(version)s"
)
@click.option(
    "--protocol",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The folder of a protocol of your own (docs/new-protocol.md); may be repeated.",
)
def cli(folders: tuple[Path, ...]) -> None:
    """Verify Kafka-style replicated logs in KRaft mode: specs, simulation, conformance.

    Exit codes: 0 holds, 1 violated, 2 unknown, 3 bad input.

    \b
    Example: kraftcheck verify --out runs/verify
    """
    from kraftcheck import own_protocol

    own_protocol.use(folders)


GROUPS = {
    "Clients and clusters": (
        *(histories.check, histories.convert, clusters.record),
        *(clusters.interceptor, clusters.cluster, clusters.disk),
        *(serve.serve, serve.ctl),
    ),
    "An implementation of the protocol": (
        *(runs.conform, runs.drive, runs.replay, witness.witness, storage.storage),
    ),
    "A change of the protocol": (
        *(bugs.try_own, bugs.bugs, models.spec, models.cover, models.prove),
    ),
    "Runs of the reference": (
        *(runs.simulate, runs.explore, runs.likelihood, campaigns.campaign, runs.shrink),
        *(runs.report, runs.sql, runs.verify),
    ),
    "Documentation": (manual.manual,),
}
"""Every verb, by who needs it."""

for _verb in chain(*GROUPS.values()):
    cli.add_command(_verb)


def main() -> None:
    """The console script."""
    try:
        cli(obj=options.OWN_PROCESS)
    except SystemExit as end:
        exits.leave(int(end.code or exits.HOLDS))


if __name__ == "__main__":
    main()
