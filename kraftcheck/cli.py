"""The command line as one group of verbs. What each is given is in verbs/, by groups of verbs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.verbs import (
    bugs,
    campaigns,
    clusters,
    histories,
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


for _verb in (
    models.spec,
    runs.simulate,
    runs.conform,
    runs.drive,
    campaigns.campaign,
    histories.check,
    histories.convert,
    runs.replay,
    runs.shrink,
    runs.report,
    runs.verify,
    models.cover,
    models.prove,
    clusters.cluster,
    clusters.record,
    clusters.disk,
    storage.storage,
    witness.witness,
    serve.serve,
    serve.ctl,
    bugs.bugs,
    bugs.try_own,
):
    cli.add_command(_verb)


def main() -> None:
    """The console script."""
    try:
        cli(obj=options.OWN_PROCESS)
    except SystemExit as end:
        exits.leave(int(end.code or exits.HOLDS))


if __name__ == "__main__":
    main()
