"""Z164 on Kafka's own classes: does anybody lead once the leader of a quorum was removed?

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from experiments.tools import click_errors
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.live.witness.jars import DEFAULT, as_of, brief_java, class_path, javac

REMOVED_LEADER: Final = Path(__file__).resolve().parent / "RemovedLeader.java"
CASES: Final = {
    "stopped": "of two voters the leader is removed, stopped, and started again",
    "resigned": "of two voters the leader is removed, and resigns",
}
CONTROLS: Final = {
    "read": "as stopped, and the other one has fetched the new set before",
    "three": "as stopped, of three voters, of which none has fetched the new set",
}


def outcomes(
    times: int = 1, version: str = DEFAULT, changed: Path | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cases, each so many times, with what came out.

    changed: a folder with classes that take the place of Kafka's. Raises ClusterError: the
    program failed.
    """
    cases = [*CASES, *CONTROLS] * times
    jars = ":".join([*([str(changed)] if changed else []), *class_path(version).entries])
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        source = Path(folder) / REMOVED_LEADER.name
        source.write_text(as_of(version, REMOVED_LEADER.read_text(encoding="utf-8")), "utf-8")
        # Else the sources of Kafka's tests, where they lie among the jars, would be compiled, too.
        words = [*javac(), "-sourcepath", folder]
        run([*words, "-cp", jars, "-d", folder, str(source)])
        words = [*brief_java(), "-cp", f"{folder}:{jars}"]
        said = run([*words, f"org.apache.kafka.raft.{REMOVED_LEADER.stem}", *cases])
    found = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return zip(cases, found, strict=True)


def run(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{REMOVED_LEADER.stem}: {' '.join(done.stderr.split())[-300:]}")
    return done.stdout


@click.command()
@click.option("--kafka", "version", default=DEFAULT, show_default=True, help="Whose classes.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click_errors("Z164 by_classes")
def main(version: str, repeat: int) -> None:
    """Try whether anybody leads once the leader of a quorum was removed."""
    click.echo(f"classes of {version}")
    nobody = Counter[str]()
    for case, found in outcomes(repeat, version):
        nobody[case] += not found["led"]
    for case, what in {**CASES, **CONTROLS}.items():
        click.echo(f"nobody leads in {nobody[case]} of {repeat} runs: {what}")
    if any(nobody[case] for case in CONTROLS):
        raise ClusterError("nobody leads in a control: nothing is shown")
    sys.exit(int(any(nobody[case] for case in CASES)))


if __name__ == "__main__":
    main()
