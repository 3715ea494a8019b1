"""A schedule on which a node of Kafka takes a wrong step, as a JUnit test for Kafka's repository.

The test is over a context of Kafka's own tests: RaftClientTestContext for a voter,
ReplicationControlTestContext for the controller, AbstractPartitionTest for a broker's partition.
One node runs, and what the others send it is delivered by the test. So it has the inputs of that
node alone. After each of them it asserts what Kafka did; after the last one, the wrong one, it
asserts what the specification allows.

Law of this package: an input that changes the node and that the context cannot deliver is refused;
none is left out.
"""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path
from typing import Final

from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.sources import TESTS, fetched
from kraftcheck.kafka.witness.junit import broker, controller, voter
from kraftcheck.kafka.witness.junit.written import INDENT, Test, Wrong
from kraftcheck.reference.partition.messages import CONTROLLER

PROTOCOLS: Final = ("quorum", "quorum41", "partition")
"""Those whose schedules can be written as tests of Kafka's."""
LICENSE: Final = Path(__file__).with_name("license.txt")
"""What a file of Kafka's begins with."""
NAME: Final = re.compile(r"[A-Z]\w*Test")
IMPORTS: Final = Path(__file__).with_name("imports.toml")
CALL, NAMED = r"\(", r"\b"
"""What comes after a static method and after a class, where a test uses it."""
_IMPORT: Final = re.compile(r"import (?:static )?[\w.]+;")


def render(wrong: Wrong, place: Path, violates: str) -> str:
    """The Java source of a test class.

    Args:
        place: the file; its name ends in Test.java. If the context is private to a class of Kafka's
            tests, the file is that class: the one that is there, or the release's.
        violates: what is wrong, for the comment and for the method's name.

    Raises:
        BadInput: an input of the node has no counterpart in Kafka's context, or the file has
            another name than it must have.
        ArtifactError: the release's tests cannot be had.
    """
    if not NAME.fullmatch(place.stem):
        raise BadInput(f"{place.name}: a test class has a name like VoteTest")
    last = wrong.steps[-1]
    of = voter if not hasattr(last.constants, "replicas") else broker
    test = (controller if last.node == CONTROLLER else of).test(wrong)
    method = _method(test, violates)
    return _within(test, method, place) if test.within else _alone(test, method, place.stem)


def _method(test: Test, violates: str) -> list[str]:
    name = "test" + "".join(
        part[0].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", violates)
    )
    lines = ["/**", f" * {violates}.", " */", "@Test", f"public void {name}() throws Exception {{"]
    body = [line for part in test.body for line in part.split("\n")]
    lines += [f"{INDENT}{line}" if line else "" for line in body]
    return [f"{INDENT}{line}" if line else "" for line in [*lines, "}"]]


def _alone(test: Test, method: list[str], name: str) -> str:
    """A file with a class of its own."""
    head = f"public class {name} extends {test.extends} {{" if test.extends else ""
    members = [f"{INDENT}{line}" if line else "" for line in test.members]
    lines = [head or f"public class {name} {{", *members, *([""] if members else []), *method, "}"]
    text = "\n".join(lines) + "\n"
    imports = sorted(_imports(test, text))
    blocks = [
        "\n".join(each for each in imports if re.match(prefix, each))
        for prefix in (r"import (?!java|org\.junit|static)", r"import org\.junit", r"import java")
    ]
    statics = "\n".join(each for each in imports if each.startswith("import static"))
    head = "\n\n".join(filter(None, [f"package {test.package};", *blocks, statics]))
    return f"{LICENSE.read_text(encoding='utf-8')}{head}\n\n{text}"


def _imports(test: Test, text: str) -> list[str]:
    """What a text needs to import."""
    known = tomllib.loads(IMPORTS.read_text(encoding="utf-8"))[test.imports]
    return [
        f"import {each};"
        for each in [*known, "org.junit.jupiter.api.Test"]
        if re.search(rf"(?<!\w){each.rpartition('.')[2]}{CALL if ' ' in each else NAMED}", text)
    ]


def _within(test: Test, method: list[str], place: Path) -> str:
    """Kafka's own test class with one method more."""
    if place.stem != test.within:
        raise BadInput(
            f"{place.name}: Kafka's context for this test is private to {test.within}: name a file "
            f"{test.within}.java, which gets the test as a method"
        )
    text = place.read_text(encoding="utf-8") if place.is_file() else _released(test)
    name = next(line for line in method if "void " in line).strip()
    if name in text:
        raise BadInput(f"{place}: it has this test already: `{name}`")
    lines = text.rstrip().removesuffix("}").rstrip().splitlines()
    for each in _imports(test, "\n".join(method)):
        known = [at for at, line in enumerate(lines) if _IMPORT.fullmatch(line)]
        group = each[: each.index(".")]
        before = [at for at in known if lines[at].startswith(group) and lines[at] < each]
        if each not in lines:
            lines.insert((before or known)[-1] + 1, each)
    return "\n".join([*lines, "", *method, "}"]) + "\n"


def _released(test: Test) -> str:
    """The class as the release has it."""
    name = f"{test.package.replace('.', '/')}/{test.within}.java"
    with zipfile.ZipFile(fetched("kafka-metadata", TESTS)) as packed:
        return packed.read(name).decode()
