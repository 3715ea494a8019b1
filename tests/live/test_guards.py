"""Kafka's deciding methods: each has a rule of the kit, or a reason for none.

The list is guards.toml. A new release adds methods, or takes some away, and this test names them.
It reads the jars of sources in Maven's local repository, and is skipped without them:

    mvn dependency:get -Dartifact=org.apache.kafka:kafka-raft:4.3.1:jar:sources
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest

from kraftcheck.kafka.live.witness.jars import DEFAULT

LISTED: Final[dict[str, list[dict[str, Any]]]] = tomllib.loads(
    Path(__file__).with_name("guards.toml").read_text("utf-8")
)
CLASSES: Final = [(jar, each) for jar, classes in LISTED.items() for each in classes]
REPOSITORY: Final = Path.home() / ".m2/repository/org/apache/kafka"
_JAVA: Final = re.compile(
    r"^ {4}(?:@\w+(?:\([^)]*\))?\s+)*"
    r"(?:(?:public|protected|private|static|final|synchronized|default|abstract)\s+)*"
    r"(?:<[^>]+>\s+)?(?P<type>[\w<>\[\], .?]+?)\s+(?P<name>\w+)\s*\(",
    re.MULTILINE,
)
_SCALA: Final = re.compile(
    r"^ {2}(?:@\w+\s+)*(?:(?:override|private|protected|final|implicit)(?:\[\w+\])?\s+)*"
    r"def\s+(?P<name>\w+)\s*(?:\[[^\]]*\])?(?:\([^=]*?\))?\s*(?::\s*(?P<type>[\w\[\], .]+?))?\s*=",
    re.MULTILINE | re.DOTALL,
)
_ANSWERS: Final = {"boolean", "Boolean", "Errors", "ApiError", "Option[Errors]"}
_CHECKS: Final = re.compile(r"validate|check|throwIf|ensure|verify")
_NO_TYPES: Final = ("return", "new", "else", "throw")
_ID: Final = re.compile(r"\b([A-Z]+)(\d+)(?: to \1(\d+))?\b")


def deciding(source: str, *, scala: bool) -> set[str]:
    """The names of the methods that return a boolean or an error, or say that they check."""
    found = set()
    for match in (_SCALA if scala else _JAVA).finditer(source):
        name, type = match["name"], (match["type"] or "").strip()
        error = type.startswith("Optional<") and "Error" in type
        if type not in _NO_TYPES and (type in _ANSWERS or error or _CHECKS.match(name)):
            found.add(name)
    return found


@cache
def sources(jar: str, version: str = DEFAULT) -> ZipFile:
    path = REPOSITORY / jar / version / f"{jar}-{version}-sources.jar"
    if not path.is_file():
        pytest.skip(f"no sources of {jar} {version}")
    return ZipFile(path)


def listed(entry: dict[str, Any]) -> Iterator[str]:
    """The methods of a class in the list, one that is there twice twice."""
    yield from entry.get("rules", {})
    for methods in entry.get("reasons", {}).values():
        yield from methods


def wrong(entry: dict[str, Any], source: str) -> list[str]:
    """What of a class's entry does not fit its source."""
    names = list(listed(entry))
    decides = deciding(source, scala=entry["file"].endswith(".scala"))
    return [
        *(f"new: {name}" for name in sorted(decides - {*names})),
        *(
            f"gone: {name}"
            for name in names
            if not re.search(rf"\bdef {name}\b|\b{name}\s*[(\[]", source)
        ),
    ]


def ids_of_docs(docs: Path) -> set[str]:
    found = set()
    for path in docs.rglob("*.md"):
        for kind, first, last in _ID.findall(path.read_text("utf-8")):
            found |= {f"{kind}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


@pytest.mark.parametrize(
    ("jar", "entry"), [pytest.param(jar, each, id=Path(each["file"]).stem) for jar, each in CLASSES]
)
def test_every_deciding_method_is_listed(jar: str, entry: dict[str, Any]) -> None:
    assert wrong(entry, sources(jar).read(entry["file"]).decode()) == []


def test_every_method_stands_once_with_known_rules_or_a_reason(repo_root: Path) -> None:
    known = ids_of_docs(repo_root / "docs")
    for _, entry in CLASSES:
        names = list(listed(entry))
        assert len(names) == len({*names}), entry["file"]
        for name, ids in entry.get("rules", {}).items():
            assert ids and {*ids} <= known, (entry["file"], name, ids)
        assert all(reason and methods for reason, methods in entry.get("reasons", {}).items())


PLANTED = """class Planted {
    private static boolean isSame(int a, int b) {
        return true;
    }

    void validateAll(int a) throws Exception { isSame(a, a); }

    int sum() { return 0; }
}
"""


def test_a_new_method_and_one_that_is_gone_are_named() -> None:
    """The planted fault: what a release adds, and what it takes away."""
    entry = {"file": "Planted.java", "rules": {"isSame": ["Q5"]}, "reasons": {"none": ["old"]}}
    assert wrong(entry, PLANTED) == ["new: validateAll", "gone: old"]
    assert deciding("  private def isOne(a: Int): Boolean = {\n", scala=True) == {"isOne"}
