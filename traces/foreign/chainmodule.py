"""The search of TLC for chain mode: the generated module, one run, and what it found.

The module holds the lines of chains as data, extends a frame (specs/*/steps/Chain*.tla), and has as
states (chain, how many of its lines are behind, the row). TLC searches breadth first, so that each
chain advances by a line at a time; when one first gets somewhere, it is printed.

Law of this file: what a run found is read out of what TLC printed, and only from a run that ended
on its own, or in an error or a time limit that is reported with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from tla_utils import (
    CheckOptions,
    ModuleText,
    Record,
    StepFrame,
    TlcJob,
    TlcResult,
    Value,
    render,
    run_tlc as start_tlc,
)
from tla_utils.errors import ToolError
from tla_utils.steps import complaint
from tla_utils.steptable import Batch, StepTable

MODULE: Final = "ForeignChains"
INVARIANT: Final = "SC_Told"
TOLD: Final = "SC"

Line: TypeAlias = Mapping[str, Value]
"""What was logged of a step: specs/common/PartialSteps.tla says in which fields."""


@dataclass(frozen=True)
class Search:
    """Chains of one kind of node, to be searched together.

    nodes, firsts, chains: per chain the node, its first row (None: an initial one) and its lines.
    """

    frame: StepFrame
    """The module with StepOf, Hidden and MayTake."""
    logged: Mapping[str, Value]
    """Field -> values."""
    nodes: Sequence[int]
    firsts: Sequence[Record | None]
    chains: Sequence[Sequence[Line]]
    impossible: Mapping[str, Value]
    """What no row has, for the canary."""

    @cached_property
    def batch(self) -> Batch:
        """All lines; the canary's is the last."""
        lines = [line for chain in self.chains for line in chain]
        canary = {**lines[0], "after": Record(dict(self.impossible))}
        return Batch(StepTable.from_steps([*lines, canary]))

    @property
    def distinct(self) -> int:
        """How many lines differ, the canary left out."""
        return len(self.batch.rows) - 1

    def module(self, told: str) -> ModuleText:
        """The root module, with the definition of SC_Told. The last chain is the canary."""
        number = {row: at for at, row in enumerate(self.batch.rows, start=1)}
        of_line = iter([number[row] for row in self.batch.row_of_step])
        places = [[next(of_line) for _ in chain] for chain in self.chains] + [[next(of_line)]]
        firsts = [*self.firsts, self.firsts[0]]
        initial = 'LET SC_outcomes == StepOf("Init", SC_nodes[SC_c], 0, 0)\n  '
        initial += "IN {SC_outcome.row : SC_outcome \\in SC_outcomes}"
        parts = [
            f"---- MODULE {MODULE} ----",
            f"EXTENDS Integers, Sequences, FiniteSets, TLC, PartialSteps, {self.frame.module}",
            self.frame.definitions,
            f"SC_Logged ==\n  {render(Record(dict(self.logged)))}",
            self.batch.definitions(self.batch.rows),
            f"SC_lines ==\n  <<{_lists(places)}>>",
            f"SC_nodes ==\n  <<{_folded([*self.nodes, self.nodes[0]])}>>",
            "SC_rows ==\n  <<" + ",\n    ".join(_known(first) for first in firsts) + ">>",
            "SC_First(SC_c) ==\n  IF SC_rows[SC_c] # <<>> THEN {SC_rows[SC_c][1]}\n"
            f"  ELSE {initial}",
            "VARIABLES SC_chain, SC_at, SC_row",
            "SC_Line == SB_step(SC_lines[SC_chain][SC_at + 1])",
            f"ASSUME \\A SC_c \\in 1..{len(places)} : TLCSet(SC_c, -1)",
            f"SC_Init ==\n  /\\ SC_chain \\in 1..{len(places)}\n  /\\ SC_at = 0\n"
            "  /\\ SC_row \\in SC_First(SC_chain)",
            "SC_Next ==\n  /\\ SC_at < Len(SC_lines[SC_chain])\n"
            "  /\\ SC_row' \\in RowsAfter(SC_nodes[SC_chain], SC_row, SC_Line)\n"
            "  /\\ SC_at' = SC_at + 1\n  /\\ UNCHANGED SC_chain",
            f"{INVARIANT} ==\n{told}",
            "====",
        ]
        return ModuleText(MODULE, "\n".join(part.rstrip() for part in parts if part) + "\n")

    def run(self, told: str, options: CheckOptions) -> TlcResult:
        """One run of TLC with this definition of SC_Told."""
        cfg = (
            f"{self.frame.constants.rstrip()}\n  Logged <- SC_Logged\n"
            "  OutcomesOf <- StepOf\n  Receives <- MayTake\n  Guesses <- Hidden\n"
            f"INIT SC_Init\nNEXT SC_Next\nINVARIANT {INVARIANT}\n"
        )
        result = start_tlc(
            TlcJob(
                module=self.module(told),
                cfg=cfg,
                libraries=self.frame.libraries,
                heap_mb=options.heap_mb,
                timeout_s=options.timeout_s,
                deadlock=False,
            ),
            work_dir=options.keep,
        )
        if result.warnings:
            raise ToolError(f"TLC may have ignored what it was told: {result.warnings[0]}")
        return result


class ChainResult(NamedTuple):
    """What a search found."""

    accepted: list[int]
    """Per chain, how many of its lines, from the first, the spec can have taken."""
    canary: bool
    """Whether the impossible line was accepted."""
    error: str
    """TLC's words, if it could not evaluate a step."""
    stopped: str
    """Why the search was not whole. Both are "" for a whole one."""
    cpu_seconds: float


# One worker: registers are per worker.
_FIRST_TIME: Final = (
    "  \\/ TLCGet(SC_chain) >= SC_at\n"
    f'  \\/ TLCSet(SC_chain, SC_at) /\\ PrintT(<<"{TOLD}", SC_chain, SC_at>>)'
)


def run_search(search: Search, options: CheckOptions) -> ChainResult:
    """How far each chain gets.

    Raises ToolError for a TLC that cannot be used, and for one that did not begin every chain.
    """
    result = search.run(_FIRST_TIME, options)
    reached = [-1] * (len(search.chains) + 1)
    for printed in result.printed_values():
        match printed:
            case ("SC", int(chain), int(at)) if 1 <= chain <= len(reached):
                reached[chain - 1] = max(reached[chain - 1], at)
    error = complaint(result) if result.errors else ""
    stopped = result.stopped
    if not error and not stopped and (not result.complete or min(reached) < 0):
        raise ToolError("TLC did not search all chains: its verdicts cannot be trusted")
    accepted = [max(at, 0) for at in reached]
    return ChainResult(accepted[:-1], accepted[-1] > 0, error, stopped, result.cpu_seconds)


def _known(first: Record | None) -> str:
    return "<<>>" if first is None else f"<<{render(first)}>>"


def _lists(places: Sequence[Sequence[int]]) -> str:
    return ",\n    ".join(f"<<{_folded(chain)}>>" for chain in places)


def _folded(numbers: Sequence[int]) -> str:
    """Numbers with commas, on lines that TLC's parser can read without taking its time."""
    lines = [numbers[at : at + 20] for at in range(0, len(numbers), 20)]
    return ",\n    ".join(", ".join(map(str, line)) for line in lines)
