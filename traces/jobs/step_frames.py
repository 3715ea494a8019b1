"""Frames: the predicate by which TLC judges recorded steps, made from what a kind of node is.

A step is a record of action, node, before, input, after, sent and ignored. It is allowed iff the
spec's own handler has exactly that outcome (L6): the operator `Step_<action>` of the kind's module.
A run begins with a step "Init" for each node: its first row is initial.

A frame may judge attempts too. An input that the reference found disabled says so in `ignored`, and
then the spec must have no outcome either; a node that is not running is delivered nothing
(`LiftMessages`).

Law of this file: nothing here knows of a protocol, and nothing is allowed but by its spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from kraftcheck.osutil.files import read_text
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import AnyConstants, extended_by, protocol_of_kind
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.abstraction import cfg_constants, constant_definitions, constant_values
from tla_utils import StepFrame
from tla_utils.overrides import find_module, read_module

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
    """The frame of steps under several constants: the column `given` says under which of them, by
    their place from 1 on. One set of them stands in the cfg, which costs TLC less."""
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
    own = Path(protocol.modules or specs / protocol.name)
    extended = [specs / name for name in extended_by(protocol)]
    folders = (own, *extended, own / "steps", specs / "common")
    return [path for path in folders if path.is_dir()]


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
        waiting = [kind.module]
        while waiting:
            name = waiting.pop()
            path = find_module(name, libraries(kind, specs))
            if name not in texts and path is not None:  # others are TLC's own
                texts[name] = read_text(path)
                module = read_module(texts[name])
                waiting += [*module.extends, *module.instances]
    return sha256("".join(texts[name] for name in sorted(texts)).encode()).hexdigest()
