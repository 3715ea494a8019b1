"""Pairs of states as data, and what TLC says of each property of a module on each pair.

A pair need not be a step of anything: the properties are what is asked about, and of a state that
no run reaches they say something, too. TLC goes from the first state of a pair to the second,
evaluates every property there, and prints the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kraftcheck.reference.protocols import AnyConstants
from kraftcheck.traces.steps.translation import cfg_constants, constant_definitions
from tests.reference.plain import Planted, Rows
from tla_utils import ModuleText, StepTable, TlcJob, Value, read_manifest, run_tlc
from tla_utils.steptable import Batch

Variables = Mapping[str, Value]
"""A state: the value of each variable."""


class Asked(NamedTuple):
    """What TLC evaluates, by the name of the property: of the second state, or of the step to it,
    in which the second state is primed."""

    states: Mapping[str, str]
    steps: Mapping[str, str]


class Plain(NamedTuple):
    """What a protocol without a simulation of its own is asked.

    module: of its properties. steps: those of steps, which the spec says in an action of the name
    and `Step`. variables: those of the spec, of rows. questions: rules with arguments. settings:
    constants under which they are asked. replaced: a bug, and the rules that answer otherwise.
    """

    planted: Planted
    module: str
    steps: tuple[str, ...]
    variables: Callable[[Rows], Variables]
    questions: Callable[[], Iterator[tuple[str, tuple[Any, ...]]]]
    settings: tuple[Any, ...]
    replaced: tuple[str, set[str]]
    beside: tuple[str, ...] = ()
    """Constants that no property and no rule mentions."""


def answers(
    module: str,
    constants: AnyConstants,
    asked: Asked,
    pairs: Sequence[tuple[Variables, Variables]],
    specs: Path,
    beside: Sequence[str] = (),
) -> list[dict[str, bool]]:
    """For each pair of states, which properties of the module hold there. beside: constants that it
    does not declare.
    """
    rows = [
        {f"{name}{at}": value for at, state in enumerate(pair) for name, value in state.items()}
        for pair in pairs
    ]
    batch = Batch(StepTable.from_steps(rows))
    variables = list(pairs[0][0])
    first = " ".join(f"/\\ {name} = SB_s.{name}0" for name in variables)
    second = " ".join(f"/\\ {name}' = SB_s.{name}1" for name in variables)
    declared = "".join(f"CONSTANT {name}\n" for name in beside)
    text = (
        f"---- MODULE Judged ----\nEXTENDS {module}, TLC\n"
        f"{declared}{constant_definitions(constants)}{batch.definitions(batch.row_of_step)}\n"
        "VARIABLES SB_id, SB_after\n"
        f"SB_Init == /\\ SB_id \\in 1..{len(rows)} /\\ SB_after = FALSE\n"
        f"  /\\ LET SB_s == SB_step(SB_id) IN {first}\n"
        "SB_Next == /\\ SB_after = FALSE /\\ SB_after' = TRUE /\\ SB_id' = SB_id\n"
        f"  /\\ LET SB_s == SB_step(SB_id) IN {second}\n"
        f'  /\\ PrintT(<<"steps", SB_id, <<{_list(asked.steps)}>> >>)\n'
        # Not as primed properties of the step: TLC evaluates recursion there anew and anew.
        f'SB_Told == SB_after => PrintT(<<"states", SB_id, <<{_list(asked.states)}>> >>)\n====\n'
    )
    cfg = f"{cfg_constants(constants)}INIT SB_Init\nNEXT SB_Next\nINVARIANT SB_Told\n"
    libraries = read_manifest(specs / "models.toml").libraries
    result = run_tlc(TlcJob(ModuleText("Judged", text), cfg, libraries, deadlock=False))
    assert not result.errors and result.complete, result.errors
    told: list[dict[str, bool]] = [{} for _ in pairs]
    for printed in result.printed_values():
        match printed:
            case ("steps" | "states" as kind, int(number), tuple(held)):
                names = asked.steps if kind == "steps" else asked.states
                told[number - 1] |= {n: h is True for n, h in zip(names, held, strict=True)}
    assert all(len(each) == len(asked.states) + len(asked.steps) for each in told)
    return told


def _list(asked: Mapping[str, str]) -> str:
    return ",".join(f"\n    {each}" for each in asked.values())
