"""Steps as values: what TLC reads from the file is what it reads from the text."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.tla_utils.ledger import frame, ledger_steps, spoiled
from tests.tla_utils.same_values import differing
from tla_utils import steps as tla_steps, steptable, stepvalues
from tla_utils.compile_stepvalues import compile_classes
from tla_utils.errors import ToolError
from tla_utils.steps import CheckOptions, StepFrame, check_steps
from tla_utils.steptable import EncodedSteps, StepTable
from tla_utils.stepvalues import (
    JAR,
    SOURCE,
    FieldOf,
    FunctionOf,
    Plain,
    RecordOf,
    Scalar,
    SequenceOf,
    SetOf,
    Shape,
    UnionOf,
    source_digest,
)
from tla_utils.values import ModelValue, Record, Value, function

encode = msgspec.msgpack.encode
NUMBERS = (0, 1, -1, -32, -33, 127, 128, 255, 256, 65535, 65536, -128, -129, -32769, 2**31 - 1)


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test of this process may have played a TLC that cannot load the class."""
    monkeypatch.setattr(tla_steps, "_cannot_load", {})


def drawn(chance: random.Random, depth: int = 3) -> Value:
    """Sets and functions have members of one kind: TLC compares no others."""
    kind = chance.randrange(3 if depth == 0 else 8)
    if kind == 0:
        return chance.choice(NUMBERS)
    if kind == 1:
        return chance.choice((True, False))
    if kind == 2:
        return chance.choice(("", "a", "Leader", "x" * 40, 'quoted "\\', "ünïcode"))
    size = chance.choice((0, 1, 2, 3, 17))
    if kind == 3:
        return tuple([drawn(chance, depth - 1) for _ in range(size)])
    if kind == 4:
        return frozenset(chance.sample(range(-40, 400), size))
    if kind == 5:
        return Record({f"f{n}": drawn(chance, depth - 1) for n in range(size + 1)})
    if kind == 6:
        return frozenset([Record(k=n, v=chance.randrange(3)) for n in range(size)])
    keys = chance.sample(range(-3, 60), size + 1)
    return function({key: drawn(chance, depth - 1) for key in keys})


def table(values: list[Value]) -> StepTable:
    return StepTable.from_steps([{"value": value} for value in values])


@pytest.mark.slow
@pytest.mark.tlc
def test_values_that_say_what_they_are_have_the_fingerprints_of_their_text() -> None:
    chance = random.Random(57)
    values = [*NUMBERS, *[drawn(chance) for _ in range(1500)]]
    assert differing(table(values), table(values)) == 0


@pytest.mark.tlc
def test_model_values_are_those_of_the_module() -> None:
    values: list[Value] = [ModelValue("m1"), (ModelValue("m2"),), frozenset({ModelValue("m1")})]
    assert differing(table(values), table(values), ("m1", "m2")) == 0


POINT = RecordOf((FieldOf("x", "x", Scalar()), FieldOf("the_y", "theY", Scalar(), encode(7))))
TAGGED = RecordOf(POINT.fields, tag=("type", "Point"))
BARE = RecordOf(POINT.fields, is_array=True)
LISTED = RecordOf(POINT.fields, is_array=True, tag=("type", "Listed"))
EITHER = UnionOf((TAGGED, LISTED), untagged=Scalar())
SHAPED: list[tuple[Shape, Any, Value]] = [
    (Plain(), {"x": 1}, Record(x=1)),
    (Scalar(), "a", "a"),
    (SequenceOf(Scalar()), [3, 1], (3, 1)),
    (SequenceOf(Scalar()), [], ()),
    (SetOf(Scalar()), [3, 1], frozenset({1, 3})),
    (SetOf(Scalar()), [], frozenset()),
    (FunctionOf(Scalar(), (1, 2)), [5, 6], (5, 6)),
    (FunctionOf(Scalar(), (0, 4)), [5, 6], function({0: 5, 4: 6})),
    (FunctionOf(Scalar(), ()), [], ()),
    (POINT, {"x": 1, "the_y": 2}, Record(x=1, theY=2)),
    (POINT, {"x": 1}, Record(x=1, theY=7)),
    (BARE, [1, 2], Record(x=1, theY=2)),
    (TAGGED, {"type": "Point", "x": 1, "the_y": 2}, Record(type="Point", x=1, theY=2)),
    (LISTED, ["Listed", 1, 2], Record(type="Listed", x=1, theY=2)),
    (EITHER, {"type": "Point", "x": 1}, Record(type="Point", x=1, theY=7)),
    (EITHER, ["Listed", 1, 2], Record(type="Listed", x=1, theY=2)),
    (EITHER, 9, 9),
    (SetOf(BARE), [[2, 1], [1, 1]], frozenset({Record(x=1, theY=1), Record(x=2, theY=1)})),
]


def encoded(shaped: list[tuple[Shape, Any, Value]]) -> EncodedSteps:
    forms = list(dict.fromkeys((shape,) for shape, _, _ in shaped))
    steps = [bytes([forms.index((shape,))]) + encode(given) for shape, given, _ in shaped]
    return EncodedSteps(["value"], forms, steps, lambda: table([value for *_, value in shaped]))


@pytest.mark.tlc
def test_each_shape_is_the_value_that_it_announces() -> None:
    assert differing(table([value for *_, value in SHAPED]), encoded(SHAPED)) == 0


@pytest.mark.tlc
def test_another_shape_is_seen() -> None:
    """The planted faults: fields exchanged, other arguments, a sequence for a set."""
    swapped = RecordOf((FieldOf("x", "theY", Scalar()), FieldOf("the_y", "x", Scalar())), True)
    wrong: list[tuple[Shape, Any, Value]] = [
        (swapped, [1, 2], Record(x=1, theY=2)),
        (FunctionOf(Scalar(), (4, 5)), [1, 3], function({5: 1, 6: 3})),
        (Scalar(), 1, 1),
    ]
    assert differing(table([value for *_, value in wrong]), encoded(wrong)) == 2
    of_set: list[tuple[Shape, Any, Value]] = [(SequenceOf(Scalar()), [1], frozenset({1}))]
    with pytest.raises(AssertionError, match="equality of the set"):
        differing(table([value for *_, value in of_set]), encoded(of_set))


# --- The fallback ---


def planted() -> list[Any]:
    steps = ledger_steps(60)
    steps[7] = spoiled(steps[7], guess=77)
    return steps


@pytest.mark.tlc
def test_values_are_the_usual_form() -> None:
    report = check_steps(frame(), planted())
    assert report.numbers("rejected") == [7] and (report.as_text, report.runs) == ("", 1)
    text = check_steps(frame(), planted(), CheckOptions(as_text="asked for"))
    assert text.numbers("rejected") == [7] and text.as_text == "asked for"


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("damage", ["no jar", "other Java", "other TLC"])
def test_a_class_that_cannot_be_loaded_is_said_and_text_is_taken(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "StepValues.jar"
    if damage != "no jar":
        with zipfile.ZipFile(JAR) as whole, zipfile.ZipFile(jar, "w") as changed:
            for name in whole.namelist():
                data = whole.read(name)
                if damage == "other Java":  # the version of the class file
                    data = data[:6] + b"\x00\xff" + data[8:]
                else:
                    data = data.replace(b"tlc2/value/impl/Value", b"tlc2/value/impl/Other")
                changed.writestr(name, data)
    monkeypatch.setattr(tla_steps, "JAR", jar)
    report = check_steps(frame(), planted())
    assert report.numbers("rejected") == [7] and len(report.numbers("accepted")) == 59
    assert "StepValues" in report.as_text and report.runs == 2
    # It is not tried again; the whole class is.
    assert check_steps(frame(), planted()).runs == 1
    monkeypatch.setattr(tla_steps, "JAR", JAR)
    assert not check_steps(frame(), planted()).as_text


SMALL = "Allowed(step) == step.value.x < 9\n"


@pytest.mark.tlc
@pytest.mark.parametrize(
    "wrong", [{"x": 1, "z": 2}, {"y": 1}, {"x": 1, "the_y": 2, "z": 3}, [1, 2], {"x": 2**40}]
)
def test_what_is_not_of_its_shape_is_never_judged_as_a_value(wrong: Any) -> None:
    """Nor is it rejected: whoever reads the text says what it is."""
    given: list[tuple[Shape, Any, Value]] = [(POINT, {"x": 1}, Record(x=1, theY=7))] * 2
    steps = encoded([given[0], (POINT, wrong, Record(x=3, theY=4))])
    report = check_steps(StepFrame("Integers", [], definitions=SMALL), steps)
    assert report.numbers("accepted") == [0, 1] and "SB_undecoded: step 2" in report.as_text


@pytest.mark.tlc
def test_a_set_with_a_member_twice_is_not_read() -> None:
    steps = encoded([(SetOf(Scalar()), [1, 1], frozenset({1}))])
    frame_of_sets = StepFrame("Integers", [], definitions="Allowed(step) == 1 \\in step.value\n")
    assert "occurs twice" in check_steps(frame_of_sets, steps).as_text


@pytest.mark.tlc
def test_a_file_of_other_steps_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLC compares the checksum; text is taken in place of the wrong file."""
    monkeypatch.setattr(stepvalues, "crc32", lambda data: 1)
    report = check_steps(frame(), planted())
    assert report.numbers("rejected") == [7] and report.as_text


@pytest.mark.tlc
def test_the_first_line_says_why_text_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*args: object) -> None:
        raise ValueError("no file\nnor a second line")

    monkeypatch.setattr(steptable, "file_of", none)
    assert check_steps(frame(), planted()).as_text == "no file"


def test_tags_tell_records_apart() -> None:
    with pytest.raises(ValueError, match="tag"):
        stepvalues.file_of(["value"], [[UnionOf((POINT, BARE))]], [])
    with pytest.raises(ToolError, match="at most 128"):
        EncodedSteps(["value"], [[Scalar()]] * 129, [], lambda: table([1]))


# --- The jar ---


def test_the_jar_is_made_of_the_source_beside_it() -> None:
    """Otherwise: python -m tla_utils.compile_stepvalues"""
    with zipfile.ZipFile(JAR) as jar:
        assert jar.read(SOURCE).decode() == source_digest()


@pytest.mark.slow
def test_the_same_compiler_makes_the_same_classes(tmp_path: Path) -> None:
    try:
        compile_classes(tmp_path / "own.jar")
    except ToolError as error:
        pytest.skip(str(error))
    assert (tmp_path / "own.jar").read_bytes() == JAR.read_bytes()
