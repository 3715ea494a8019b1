"""How large the repository is: `make size`, or `python -m tools.size [REVISION ...]`.

Lines of the files that git tracks, blank ones, remarks and prose among them: Python without tests,
that of it which is about Apache Kafka itself, the tests' Python, and the text of the specs. A link
counts for nothing, what it leads to once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Final, NamedTuple

OF_KAFKA: Final = (
    "kraftcheck/kafka",
    "kraftcheck/storage.py",
    "reference/storage",
    "experiments",
    "finds",
)
"""What is about real brokers and their files, and what the protocols can do without."""


class Kind(NamedTuple):
    """Files that are counted together."""

    name: str
    has: Callable[[PurePosixPath], bool]


def is_test(path: PurePosixPath) -> bool:
    return path.parts[0] == "tests"


def is_of_kafka(path: PurePosixPath) -> bool:
    return any(path.is_relative_to(each) for each in OF_KAFKA)


def is_of_specs(path: PurePosixPath, end: str = "") -> bool:
    known = (end,) if end else (".tla", ".cfg", ".toml", ".md")
    return path.parts[0] == "specs" and path.suffix in known


KINDS: Final = (
    Kind("Python, no tests", lambda path: path.suffix == ".py" and not is_test(path)),
    Kind(
        "  about Kafka itself",
        lambda path: path.suffix == ".py" and not is_test(path) and is_of_kafka(path),
    ),
    Kind(
        "  the core",
        lambda path: path.suffix == ".py" and not is_test(path) and not is_of_kafka(path),
    ),
    Kind("Python of tests", lambda path: path.suffix == ".py" and is_test(path)),
    Kind("text of the specs", is_of_specs),
    *(
        Kind(f"  {suffix}", partial(is_of_specs, end=suffix))
        for suffix in (".tla", ".cfg", ".toml", ".md")
    ),
)


def counted(revision: str) -> Iterator[tuple[str, int, int]]:
    """Of each kind the name, the number of files, and that of their lines, at a revision."""
    listed = _git("ls-tree", "-r", "-z", revision).decode().split("\0")
    files = [line.split("\t", 1) for line in listed if line.startswith("100")]
    texts = [(PurePosixPath(path), about.split()[2]) for about, path in files if _is_text(path)]
    lines = dict(zip([path for path, _ in texts], _lines([blob for _, blob in texts]), strict=True))
    for kind in KINDS:
        own = [count for path, count in lines.items() if kind.has(path)]
        yield kind.name, len(own), sum(own)


def _is_text(path: str) -> bool:
    return path.endswith((".py", ".tla", ".cfg", ".toml", ".md"))


def _lines(blobs: list[str]) -> Iterator[int]:
    """Of each blob how many lines it has, as `git cat-file --batch` prints them."""
    text = _git("cat-file", "--batch", given="\n".join(blobs).encode())
    at = 0
    for _ in blobs:
        head = text.index(b"\n", at) + 1
        end = head + int(text[at:head].split()[2])
        yield text.count(b"\n", head, end)
        at = end + 1


def _git(*words: str, given: bytes = b"") -> bytes:
    return subprocess.run(["git", *words], input=given, check=True, capture_output=True).stdout


def main(*revisions: str) -> None:
    for revision in revisions or ("HEAD",):
        print(f"{revision}\n{'':22}{'files':>8}{'lines':>10}")
        for name, files, lines in counted(revision):
            print(f"{name:22}{files:8,}{lines:10,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
