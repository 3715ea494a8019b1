"""The tests that a find's patch adds to Kafka's own, or changes, fail without its fix only.

    .venv/bin/python -m experiments.kafka_tests Z133

A patch (finds/*/fix.patch) changes classes of Kafka and the tests of these. Every test class that
it changes is run whole, by JUnit, on Kafka's own jars and once more with the changed classes before
them. Without the fix each test fails that the patch adds, and no other but those of which it
changes lines; with it none does.

Ends with 0 (so it is), 1 (otherwise) or 3 (it could not be tried).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

import click

from experiments.changed import FINDS, compiled, patched
from experiments.tools import click_errors
from kraftcheck.kafka.live.artifacts import Artifacts, libraries, version
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.live.witness.jars import brief_java

_JUNIT: Final = Path(__file__).resolve().parent / "junit"
_LAUNCHER: Final = "org.junit.platform.console.ConsoleLauncher"
_TEST: Final = re.compile(r"/src/test/(?:java|scala/unit|scala/integration)/")
_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
_METHOD: Final = {
    ".java": re.compile(r"^    \w[\w<>\[\], ?]* (\w+)\("),
    ".scala": re.compile(r"^  (?:private )?def (\w+)\("),
}
_IN_BODY: Final = {".java": re.compile(r"^[+-] {8,}\S"), ".scala": re.compile(r"^[+-] {4,}\S")}
_NOT_FOUND: Final = "during test discovery"
_A_TEST: Final = re.compile(r"^    (?:\w+ )*void |^  def .*\): Unit = \{")
TESTED: Final = sorted(
    path.parent.name for path in FINDS.glob("*/fix.patch") if _TEST.search(path.read_text("utf-8"))
)
"""The finds whose patches have tests."""


class Run(NamedTuple):
    """What JUnit said of some classes: how many tests ran, and the methods that failed."""

    tests: int
    failed: frozenset[str]


class Compared(NamedTuple):
    """The same tests without a fix and with it.

    Attributes:
        added: the test methods that the patch adds.
        touched: these, and those of which it changes lines.
    """

    added: frozenset[str]
    touched: frozenset[str]
    without: Run
    fixed: Run

    @property
    def holds(self) -> bool:
        """Whether these tests show the defect, and the fix mends it and breaks nothing."""
        shown = bool(self.added) and self.added <= self.without.failed <= self.touched
        return shown and not self.fixed.failed


def compare(name: str, whole: bool = True) -> Compared:
    """Runs the tests of a find's patch both ways.

    whole: whether all tests of a class are run without the fix, too, or those that the patch adds
    or changes. Raises ArtifactError, ClusterError.
    """
    text = (FINDS / name / "fix.patch").read_text("utf-8")
    path = jars()
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        tree, fixed, tests = (Path(folder) / each for each in ("tree", "fixed", "tests"))
        files = patched(name, tree)
        sources = [each for each in files if _TEST.search(each.as_posix())]
        compiled([each for each in files if each not in sources], fixed)
        # The tests may use what the fix adds, so they are compiled against it.
        compiled(sources, tests, [str(fixed), *path])
        classes = [Path(_TEST.split(each.as_posix())[1]).with_suffix("") for each in sources]
        names = [each.as_posix().replace("/", ".") for each in classes]
        touched = frozenset(_touched(text, tree))
        chosen = () if whole else touched
        return Compared(
            frozenset(_added(text)),
            touched,
            _run(names, [str(tests), *path], Path(folder) / "without", touched, chosen),
            _run(names, [str(tests), str(fixed), *path], Path(folder) / "with"),
        )


def _added(patch: str) -> Iterator[str]:
    """The test methods that a patch adds."""
    for line in patch.splitlines():
        found = [each.match(line[1:]) for each in _METHOD.values() if line.startswith("+")]
        yield from (
            method[1]
            for method in found
            if method and method[1].startswith("test") and _A_TEST.match(line[1:])
        )


def _touched(patch: str, tree: Path) -> Iterator[str]:
    """The methods of tests in whose bodies a patch, which is applied in a tree, changes lines."""
    for part in re.split(r"(?m)^(?=--- )", patch):
        head, _, hunks = part.partition("@@")
        if not _TEST.search(head):
            continue
        file = tree / head.partition("+++ b/")[2].split()[0]
        text = file.read_text("utf-8").splitlines()
        at = 0
        for line in f"@@{hunks}".splitlines():
            if hunk := _HUNK.match(line):
                at = int(hunk.group(1)) - 1
                continue
            if _IN_BODY[file.suffix].match(line):
                before = (_METHOD[file.suffix].match(each) for each in reversed(text[: at + 1]))
                method = next(each for each in before if each)
                if _A_TEST.match(method.string):  # a helper of tests is none
                    yield method[1]
            at += not line.startswith("-")


def jars() -> list[str]:
    tests = Artifacts("junit", _JUNIT / "pom.xml", _JUNIT / "checksums.txt", version())
    return [f"{tests.libraries()}/*", f"{libraries()}/*"]


def _run(
    classes: Sequence[str],
    path: Sequence[str],
    reports: Path,
    due: frozenset[str] = frozenset(),
    methods: Collection[str] = (),
) -> Run:
    """Runs test classes; once more if others fail than are due.

    Some of Kafka's tests give threads a few milliseconds, and fail on a busy machine. What fails
    both times counts.
    """
    first = run_once(classes, path, reports / "first", methods)
    if first.failed <= due:
        return first
    again = run_once(classes, path, reports / "again", methods)
    return Run(first.tests, first.failed & again.failed)


def run_once(
    classes: Sequence[str], path: Sequence[str], reports: Path, methods: Collection[str] = ()
) -> Run:
    """Runs test classes, and of names that end in .* all classes of the package.

    Args:
        methods: names of the tests to run; by default, all.

    Raises:
        ClusterError: no test ran, or a class is not there, on which JUnit fails all tests.
    """
    words = [*brief_java(), "-cp", ":".join(path), _LAUNCHER, "execute"]
    words += ["--disable-banner", "--details=none", f"--reports-dir={reports}"]
    words += [f"--include-methodname=.*#{each}" for each in sorted(methods)]
    words += [f"-p={each[:-2]}" if each.endswith(".*") else f"-c={each}" for each in classes]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = [
        case
        for report in sorted(reports.glob("TEST-*.xml"))
        for case in ElementTree.parse(report).iter("testcase")
    ]
    if not found:
        said = " ".join((done.stdout + done.stderr).split())
        raise ClusterError(f"JUnit ran no test of {', '.join(classes)}: {said[:300]}")
    for case in found:
        error = case.find("error")
        if error is not None and _NOT_FOUND in (said := error.get("message", "")):
            raise ClusterError(f"JUnit: {' '.join(said.split())[:300]}")
    failed = {
        case.get("name", "").partition("(")[0]
        for case in found
        if case.find("failure") is not None or case.find("error") is not None
    }
    return Run(len(found), frozenset(failed))


@click.command()
@click.argument("name", type=click.Choice(TESTED))
@click_errors("kafka_tests")
def main(name: str) -> None:
    """Run the tests of a find's patch without its fix and with it."""
    found = compare(name)
    for said, run in (("without the fix", found.without), ("with the fix", found.fixed)):
        failed = f": {', '.join(sorted(run.failed))}" if run.failed else ""
        click.echo(f"{said}: {len(run.failed)} of {run.tests} tests fail{failed}")
    raise SystemExit(0 if found.holds else 1)


if __name__ == "__main__":
    main()
