"""What TLC is given: recorded values as values of the specification, and the predicate on steps.

`Abstraction` is the total function `abstract` of law L1. The reference keeps its state in the
fields of the specification, in snake case. What differs in form is said where a field is declared
(reference/kit/fields.py): sorted tuples that are sets there (`SetOf`), and tuples aligned with the
nodes that are functions on nodes there (`ByNode`). All else follows from the type: a struct is a
record, a tagged struct a record with the field `type`, a tuple a sequence, a number or a string
itself.

A *shape* follows from the same declarations, so that rows and inputs go to TLC in the bytes in
which a trace keeps them. The two translations are held against each other by TLC's fingerprints
(tests/traces/jobs/test_shapes.py).

A *frame* is the predicate, made from what a kind of node is. A step is a record of action, node,
before, input, after, sent and ignored. It is allowed iff the spec's own handler has exactly that
outcome (L6): the operator `Step_<action>` of the kind's module. A run begins with a step "Init" for
each node: its first row is initial. A frame may judge attempts too. An input that the reference
found disabled says so in `ignored`, and then the spec must have no outcome either; a node that is
not running is delivered nothing (`LiftMessages`).

Laws of this file: nothing here knows of a protocol; nothing is left out, nothing is made up and
nothing is decided, and nothing is allowed but by its spec. Two recorded values with the same
abstraction are equal, so a verdict on the abstraction is one on the recording.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

import msgspec

from kraftcheck.reference.kit.fields import Field, Kind, fields_of, spec_name
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import (
    AnyConstants,
    extended_by,
    folder_of,
    peers_of,
    protocol_of_kind,
)
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.symmetry import Step
from tla_utils import Record, StepFrame, Value, function
from tla_utils.errors import ToolError
from tla_utils.overrides import module_texts
from tla_utils.stepvalues import (
    FieldOf,
    FunctionOf,
    RecordOf,
    Scalar,
    SequenceOf,
    SetOf,
    Shape,
    UnionOf,
)

# --- Values ---

# The input of a node's first step, which nothing causes; the frame does not look at it.
INIT_INPUT: Final = Record(type="Init")


class Abstraction:
    """The abstraction under one set of constants, which say whom the tuples by voter belong to."""

    def __init__(self, constants: AnyConstants) -> None:
        self.constants = constants
        self._nodes = peers_of(constants)
        # Logs, caches and connections of thousands of rows are a few hundred values.
        self._known: dict[Kind | None, dict[tuple[object, ...], Value]] = {None: {}}
        self._known |= {many: {} for many in (Kind.SET, Kind.BY_NODE)}
        self._structs: dict[msgspec.Struct, Value] = {}

    def row(self, row: Any) -> Value:
        """The row as the spec's record."""
        return self._record(row) if isinstance(row, msgspec.Struct) else self._value(row)

    def input(self, input: Any) -> Value:
        """A message, a timer or another input as a record; None is the input of an Init step."""
        return INIT_INPUT if input is None else self._value(input)

    def sent(self, sent: Iterable[Any]) -> Value:
        """Sent messages as a set. That none stands twice is a check of its own (check.py)."""
        return frozenset(self._value(message) for message in sent)

    def _value(self, value: object) -> Value:
        if isinstance(value, bool | int | str):
            return value
        if isinstance(value, tuple):
            return tuple([self._value(item) for item in value])
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        raise ToolError(f"a recorded value of type {type(value).__name__} has no form in the spec")

    def _struct(self, struct: msgspec.Struct) -> Value:
        if not struct.__struct_config__.frozen:
            return self._record(struct)
        known = self._structs.get(struct)
        if known is None:
            known = self._structs[struct] = self._record(struct)
        return known

    def _record(self, struct: msgspec.Struct) -> Value:
        tag, plan = _plan(type(struct))
        fields: dict[str, Value] = {**tag}
        for field, name, spec in plan:
            value = getattr(struct, name)
            kind = type(value)
            if kind is int or kind is str or kind is bool:
                fields[spec] = value
            elif not isinstance(value, tuple):
                fields[spec] = self._value(value)
            else:
                known = self._known[field.many].get(value)
                if known is None:
                    known = self._known[field.many][value] = self._tuple(field, value)
                fields[spec] = known
        return Record(fields)

    def _tuple(self, field: Field, value: tuple[object, ...]) -> Value:
        items = [self._value(item) for item in value]
        if field.many is Kind.SET:
            members = frozenset(items)
            if len(members) != len(items):
                raise ToolError(
                    f"the set {field.name} was recorded with a member that stands twice"
                )
            return members
        if field.many is Kind.BY_NODE:
            if len(items) != len(self._nodes):
                raise ToolError(
                    f"{field.name} was recorded with {len(items)} entries for {self._nodes}"
                )
            return function(zip(self._nodes, items, strict=True))
        return tuple(items)


def as_columns(form: Abstraction, step: Step) -> dict[str, Value]:
    """A step as the frame's record."""
    return {
        "action": step.action,
        "node": step.node,
        "before": form.row(step.before),
        "input": form.input(step.input),
        "after": form.row(step.after),
        "sent": form.sent(step.sent),
        "ignored": step.ignored,
    }


@cache
def _plan(of: type[msgspec.Struct]) -> tuple[dict[str, Value], tuple[tuple[Field, str, str], ...]]:
    """Plan the record that stands for a struct of this type.

    It has its tag, and of each field what it is and its name here and in the spec. Raises
    ToolError: nothing stands for it.
    """
    config = of.__struct_config__
    tag = {} if config.tag is None else {str(config.tag_field): str(config.tag)}
    plan = tuple([(field, field.name, field.spec_name) for field in fields_of(of)])
    if not tag and not plan:
        raise ToolError(f"{of.__name__} has no fields, so it is no record")
    return {**tag}, plan


def constant_values(constants: msgspec.Struct) -> dict[str, str]:
    """Each constant by its name in the specification, as TLA+ writes its value (L8)."""
    values = {}
    for field in fields_of(type(constants)):
        value, name = getattr(constants, field.name), constant_name(field.name)
        if not field.is_tuple:
            values[name] = str(value).upper()
        elif field.many is Kind.SET:
            values[name] = f"{{{_listed(value)}}}"
        else:
            values[name] = f"<<{_listed(value)}>>"
    return values


def cfg_constants(constants: msgspec.Struct) -> str:
    """The constants as TLC's configuration names them.

    It knows no sequences: those are replaced by what `constant_definitions` defines.
    """
    lines = (
        f"  {name} <- Recorded{name}\n" if _is_sequence(text) else f"  {name} = {text}\n"
        for name, text in constant_values(constants).items()
    )
    return "CONSTANTS\n" + "".join(lines)


def constant_definitions(constants: msgspec.Struct) -> str:
    """Definitions of the constants that a configuration cannot write."""
    values = constant_values(constants).items()
    return "".join(f"Recorded{name} == {text}\n" for name, text in values if _is_sequence(text))


def _is_sequence(text: str) -> bool:
    return text.startswith("<<")


def constant_name(field: str) -> str:
    """The name that the specification gives a constant."""
    name = spec_name(field)
    return name[0].upper() + name[1:]


def _listed(values: Iterable[int | tuple[int, ...]]) -> str:
    """What is no number is a set."""
    return ", ".join([str(v) if isinstance(v, int) else f"{{{_listed(v)}}}" for v in values])


# --- Shapes: values in the bytes of a trace ---

INIT_BYTES: Final = msgspec.msgpack.encode({"type": "Init"})
"""In the bytes of an input: what a node's first step has, which nothing causes."""
_INIT: Final = RecordOf((), tag=("type", "Init"))


@lru_cache(256)
def shape_of_row(row: Any, nodes: tuple[int, ...]) -> Shape:
    """nodes: whom tuples by node belong to."""
    return _of_struct(row, nodes)


@lru_cache(256)
def shape_of_inputs(inputs: tuple[Any, ...], nodes: tuple[int, ...]) -> Shape:
    """The shape of whatever is one of these types, or INIT_BYTES."""
    return UnionOf((_INIT, *[_of_struct(each, nodes) for each in inputs]))


@lru_cache(4096)
def _of_struct(struct: Any, nodes: tuple[int, ...]) -> RecordOf:
    config = struct.__struct_config__
    tag = None if config.tag is None else (str(config.tag_field), str(config.tag))
    declared = zip(fields_of(struct), msgspec.structs.fields(struct), strict=True)
    fields = tuple(
        [
            FieldOf(
                own.encode_name,
                field.spec_name,
                _of_field(field, nodes),
                msgspec.msgpack.encode(own.default)
                if config.omit_defaults and own.default is not msgspec.NODEFAULT
                else b"",
            )
            for field, own in declared
        ]
    )
    return RecordOf(fields, bool(config.array_like), tag)


def _of_field(field: Field, nodes: tuple[int, ...]) -> Shape:
    inside = _of_type(field.type, nodes)
    if not field.is_tuple:
        return inside
    if field.many is Kind.SET:
        return SetOf(inside)
    return FunctionOf(inside, nodes) if field.many is Kind.BY_NODE else SequenceOf(inside)


def _of_type(of: Any, nodes: tuple[int, ...]) -> Shape:
    """A member of a tuple is none itself."""
    origin = get_origin(of)
    if origin is Annotated:
        return _of_type(get_args(of)[0], nodes)
    if origin is Literal or of in (int, str, bool):
        return Scalar()
    if origin in (Union, types.UnionType):
        return _of_union([_of_type(each, nodes) for each in get_args(of)], of)
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        return _of_struct(of, nodes)
    raise ToolError(f"a recorded value of type {of} has no form in the spec")


def _of_union(several: Sequence[Shape], of: Any) -> Shape:
    distinct = tuple(dict.fromkeys(several))
    if len(distinct) == 1:
        (only,) = distinct
        return only
    tagged = [each for each in distinct if isinstance(each, RecordOf) and each.tag]
    others = [each for each in distinct if each not in tagged]
    if len(others) > 1:
        raise ToolError(f"a recorded value of type {of} has no form in the spec")
    return UnionOf(tuple(tagged), others[0] if others else None)


# --- Frames ---

INIT: Final = "Init"
"""The action of a node's first step, which nothing causes."""
DISABLED: Final = "(disabled)"
"""In place of a reason: the handler has no outcome for this input."""


Under: TypeAlias = Callable[[StepFrame], StepFrame]
"""What is made of a frame before it judges, such as other operators put in the place of some."""


def as_it_is(frame: StepFrame) -> StepFrame:
    return frame


def step_frame(
    kind: NodeKind,
    constants: AnyConstants,
    specs: Path = SPECS,
    *,
    refusals: bool = False,
    module: str = "",
) -> StepFrame:
    """The frame in which steps of such nodes under these constants are judged.

    refusals: attempts as well. module: one that extends the kind's, to be used in its place.
    """
    return StepFrame(
        module or kind.module,
        libraries(kind, specs),
        cfg_constants(constants) + replacements(kind),
        definitions=constant_definitions(constants) + frame_text(kind, refusals),
    )


def shared_frame(kind: NodeKind, several: Sequence[AnyConstants], specs: Path = SPECS) -> StepFrame:
    """Make the frame of steps under several constants.

    The column `given` says under which of them a step is, by their place from 1 on. One set stands
    in the cfg, which costs TLC less.
    """
    if len(several) == 1:
        return step_frame(kind, several[0], specs)
    return StepFrame(
        kind.module,
        libraries(kind, specs),
        replacements(kind) and "CONSTANTS\n" + replacements(kind),
        definitions=frame_text(kind),
        given=[constant_values(constants) for constants in several],
    )


def replacements(kind: NodeKind) -> str:
    """What stands in the place of operators that the kind's module extends, as a cfg says it."""
    return "".join(f"  {old} <- {new}\n" for old, new in kind.replaces)


def libraries(kind: NodeKind, specs: Path = SPECS) -> list[Path]:
    """Where the modules lie that steps of such nodes are judged by."""
    protocol = protocol_of_kind(kind)
    own, *extended = [specs / folder_of(each) for each in (protocol.name, *extended_by(protocol))]
    folders = dict.fromkeys([own, *extended, own / "steps", specs / "common"])
    # Of no folder at all, TLC says that the protocol's own is not there.
    return [path for path in folders if path.is_dir()] or [own]


def frame_text(kind: NodeKind, refusals: bool = False) -> str:
    """The definitions of a frame."""
    cases = "\n    [] ".join(
        f'action = "{action}" -> {of}{action}(n, row, input)'
        for of, action in (("Step_", INIT), *((kind.operators, label) for label in kind.labels))
    )
    first = f'{{[row |-> {kind.first_row}, sent |-> {{}}, ignored |-> ""]}}'
    steps = (
        f"Step_Init(n, row, input) == {first}\nStepOf(action, n, row, input) ==\n  CASE {cases}\n"
    )
    return steps + (_attempted(kind) if refusals else _TAKEN)


_TAKEN: Final = """\
Allowed(step) ==
  [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored]
    \\in StepOf(step.action, step.node, step.before, step.input)
Outcomes(step) ==
  {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
     outcome \\in StepOf(step.action, step.node, step.before, step.input)}
"""

_ATTEMPTED: Final = """\
Allowed(step) ==
  IF step.ignored = "(disabled)" THEN Attempted(step) = {}
  ELSE [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored] \\in Attempted(step)
Outcomes(step) ==
  IF Attempted(step) = {} THEN {[ignored |-> "(disabled)"]}
  ELSE {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
          outcome \\in Attempted(step)}
"""


def _attempted(kind: NodeKind) -> str:
    lost = f'"destination" \\in DOMAIN step.input /\\ ~{kind.running}(step.before)'
    made = "StepOf(step.action, step.node, step.before, step.input)"
    if kind.running:
        made = f"IF {lost} THEN {{}} ELSE {made}"
    return f"Attempted(step) == {made}\n{_ATTEMPTED}"


def frame_digest(kinds: Iterable[NodeKind], specs: Path = SPECS) -> str:
    """sha256 over the frames and every module that they build on: what steps are judged against."""
    texts: dict[str, str] = {}
    for kind in kinds:
        texts[f"({kind.name})"] = frame_text(kind) + replacements(kind)
        texts = module_texts([kind.module], libraries(kind, specs)) | texts
    return sha256("".join(texts[name] for name in sorted(texts)).encode()).hexdigest()
