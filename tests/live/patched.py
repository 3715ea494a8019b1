"""Classes of Apache Kafka with one change: from the sources of the release, compiled anew, driven
and judged.

What a test needs it says by the marker `kafka`; without it the test is skipped, and says so.
"""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.kafka.live.sources import VERSION, fetched
from kraftcheck.kafka.live.witness.jars import class_path
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.driving import drive, traces_of
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.osutil.java import BRIEF
from kraftcheck.traces.foreign.batch import judge_steps
from kraftcheck.traces.foreign.profiles import read_profile
from kraftcheck.traces.foreign.reading import read_foreign
from tla_utils import Value, diagnose

EXPLAINED: Final = 8
"""Of how many refused steps of a plant it is said what is wrong."""
COMPILE: Final = Path(__file__).with_name("Compile.java")
EDIT: Final = Path(__file__).with_name("Edit.java")


class Plant(NamedTuple):
    """A fault in Kafka. file: in its sources; old: text that stands there once; new: in its place;
    of a class of Scala: its name; a method; the body that it gets, in javassist's Java.
    action, field: of the first step that must be refused, and what is wrong with it. run: one that
    meets it, by so many moves.
    """

    name: str
    file: str
    old: str
    new: str
    action: str
    field: str
    run: int = 0
    moves: int = 200


def sources(folder: Path, *artifacts: str) -> Path:
    """The sources of these artifacts of Kafka, in the folder."""
    for artifact in artifacts:
        with zipfile.ZipFile(fetched(artifact)) as packed:
            packed.extractall(folder / "sources")
    return folder / "sources"


def compiled(plants: Sequence[Plant], sources: Path, folder: Path, of: str) -> list[Path]:
    """Of each plant a folder with the classes of its file. of: the protocol that they are of."""
    entries = [Path(entry) for entry in class_path(VERSION, of=of).entries]
    # The compiler as a library does not know what * is in a class path.
    jars = [jar for entry in entries if entry.name == "*" for jar in entry.parent.glob("*.jar")]
    words = [":".join(map(str, [*(each for each in entries if each.name != "*"), *sorted(jars)]))]
    for number, plant in enumerate(plants):
        text = (sources / plant.file).read_text(encoding="utf-8")
        assert text.count(plant.old) == 1, f"{plant.name}: {text.count(plant.old)} such places"
        changed = folder / f"changed{number}" / Path(plant.file).name
        changed.parent.mkdir(parents=True)
        changed.write_text(text.replace(plant.old, plant.new), encoding="utf-8")
        words += [str(changed), str(folder / f"classes{number}")]
    done = subprocess.run(["java", *BRIEF, str(COMPILE), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [Path(each) for each in words[2::2]]


def edited(plants: Sequence[Plant], folder: Path, of: str) -> list[Path]:
    """As `compiled`, of classes of Scala, whose byte code is changed."""
    path = ":".join(class_path(VERSION, of=of).entries)
    folders = [folder / f"edited{number}" for number in range(len(plants))]
    words = [
        word
        for plant, place in zip(plants, folders, strict=True)
        for word in (plant.file, plant.old, plant.new, str(place))
    ]
    done = subprocess.run(
        ["java", *BRIEF, "-cp", path, str(EDIT), *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folders


def seen(
    plants: Sequence[Plant], component: Component, classes: Sequence[Path], folder: Path
) -> dict[str, set[str]]:
    """Of each plant, by its name, what is wrong at the steps where it must be seen.

    The steps of all are judged in one run of TLC, whose start costs more than they do.
    """
    traces: list[list[str]] = [[] for _ in component.parts]
    for number, (plant, own) in enumerate(zip(plants, classes, strict=True)):
        kafka, trace = Kafka(VERSION, own, "", files=True), folder / f"{number}.jsonl"
        drive(trace, kafka, component, 3, runs=1, first=plant.run, seed=5, moves=plant.moves)
        for lines, path in zip(traces, traces_of(trace, component), strict=True):
            head, *steps = path.read_text("utf-8").splitlines()
            lines += [*([] if lines else [head]), *(numbered(step, number) for step in steps)]
    found: dict[str, set[str]] = {plant.name: set() for plant in plants}
    for part, lines in zip(component.parts, traces, strict=True):
        together = folder / "together.jsonl"
        together.write_text("\n".join([*lines, ""]), "utf-8")
        for name, said in _of_part(plants, part, together).items():
            found[name] |= said
    return found


def _of_part(plants: Sequence[Plant], part: Component, trace: Path) -> dict[str, set[str]]:
    read = read_foreign(trace)
    plant_of = {step.line: plants[step.run] for step in read.steps}
    found: dict[str, set[str]] = {plant.name: set() for plant in plants}
    for each in part.left_open(read):
        found[plant_of[each.line].name].add(f"{each.check}: {each.explanation}")
    for bench, refused in judge_steps(read, read.steps, profile=read_profile("kafka-4.3")).refused:
        at: dict[str, list[dict[str, Value]]] = {}
        for step, columns in refused:
            plant = plant_of[step.line]
            if str(columns["action"]) in plant.action.split():
                at.setdefault(plant.name, []).append(columns)
        asked = [(name, columns) for name, those in at.items() for columns in those[:EXPLAINED]]
        told = diagnose(bench, [columns for _, columns in asked]) if asked else []
        for (name, _), diagnosis in zip(asked, told, strict=True):
            found[name] |= set(diagnosis.lines)
    return found


def numbered(line: str, number: int) -> str:
    """A line of a trace as one of this plant's."""
    step = msgspec.json.decode(line)
    return msgspec.json.encode({**step, "run": number}).decode()


def run(code: int, *words: str) -> Any:
    """What a verb of `witness` says, which ends with this code."""
    result = CliRunner().invoke(cli, ["witness", *words, "--json", "--quiet"])
    assert result.exit_code == code, result.output
    return json.loads(result.output)
