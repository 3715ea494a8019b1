"""Chain mode: partial rows. The steps of each node, in their order, are held to the spec.

For each node of each run TLC searches for values of what is hidden with which the spec allows all
its lines. Rows need no guessing: the first is known, and each next one is an outcome of the spec
that fits what was logged. What must be tried are hidden fields of inputs, out of finite sets
(specs/*/steps). Where the trace tells all that a sender sent, its messages are the only
ones that are tried.

    accepted   a behaviour of the node was found that fits all of its lines
    rejected   none exists; the longest accepted prefix ends where the spec first allows nothing
    unknown    none was found, but a hidden field could have been something that was not tried, or
               time ran out, or TLC could not evaluate a step

Nodes are judged one by one. What one of them hides is not held against what another one hides, so
an accepted trace has a behaviour for each node, and these need not fit together where fields of
messages are hidden on both sides.

Law of this file: rejected only if the search was whole and nothing up to the rejected line was left
out. A chain with an impossible line goes with every search, and must get nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.specs import SPECS
from kraftcheck.traces.foreign.chainmodule import Line, Search, run_search
from kraftcheck.traces.foreign.domains import Domain
from kraftcheck.traces.foreign.hidden import inputs_of, logged_values
from kraftcheck.traces.foreign.narrate import narrate
from kraftcheck.traces.foreign.provenance import Senders, never_taken, not_asked, provenanced
from kraftcheck.traces.foreign.reading import ForeignStep, ForeignTrace
from kraftcheck.traces.foreign.verdicts import Chain, Doubt, ForeignVerdict, Rejection
from kraftcheck.traces.steps.translation import step_frame
from tla_utils import CheckOptions, Record, Value
from tla_utils.errors import ToolError

CHECK = CheckOptions(heap_mb=2048, timeout_s=300.0)
# Lines for one run of TLC: its start costs as much as judging some thousands.
CHUNK: Final = 5_000
NOTHING_DONE: Final = (
    "no line says what a step did: the state before or after, what it sent, why it was ignored"
)


@dataclass
class _Chain:
    """The steps of one node of one run, as lines for TLC, and what became of them."""

    steps: list[ForeignStep]
    kind: NodeKind
    lines: list[Line]
    cut: list[list[str]]
    """Per line, the hidden fields that were tried with some of their values only."""
    first: Record | None
    accepted: int = 0
    doubt: str = ""
    """Why the search says nothing beyond what was accepted."""
    rejection: Rejection | None = None
    done: bool = field(default=False)

    @property
    def node(self) -> int:
        return self.steps[0].node

    @property
    def whole(self) -> bool:
        return self.done and self.accepted == len(self.lines)


def judge_chains(trace: ForeignTrace, specs: Path = SPECS) -> ForeignVerdict:
    """Judges a trace, whose rows may be partial.

    Raises ToolError for a TLC that cannot be used, or whose report does not add up.
    """
    senders = Senders(trace)
    chains = _chains(trace, senders)
    session = _Session(trace, specs)
    for group in _groups(chains):
        session.judge(group)
    rejections = [chain.rejection for chain in chains if chain.rejection is not None]
    doubts = [
        Doubt(chain.steps[min(chain.accepted, len(chain.steps) - 1)].line, chain.doubt)
        for chain in chains
        if chain.doubt
    ]
    if not any(map(_says_what_it_did, trace.steps)):
        doubts.append(Doubt(trace.steps[0].line, NOTHING_DONE))
    return ForeignVerdict(
        mode="chain",
        producer=trace.producer,
        steps=len(trace.steps),
        nodes=len(chains),
        distinct=session.distinct,
        rejections=sorted(rejections),
        findings=sorted(provenanced(trace, senders)),
        doubts=sorted(doubts),
        chains=sorted(map(_told, chains)),
        not_asked=not_asked(trace, senders),
        runs_of_tlc=session.runs,
        cpu_seconds=round(session.cpu_seconds, 3),
    )


def _says_what_it_did(step: ForeignStep) -> bool:
    return bool(step.before or step.after) or step.sent is not None or step.ignored is not None


def _told(chain: _Chain) -> Chain:
    verdict = "accepted" if chain.whole else "rejected" if chain.rejection else "unknown"
    last = chain.steps[chain.accepted - 1].line if chain.accepted else 0
    of = chain.steps[0]
    return Chain(of.run, of.node, len(chain.steps), chain.accepted, last, verdict)


def _chains(trace: ForeignTrace, senders: Senders) -> list[_Chain]:
    """The chains of a trace, in the order in which they begin."""
    by_node: dict[tuple[int, int], list[ForeignStep]] = {}
    for step in trace.steps:
        by_node.setdefault((step.run, step.node), []).append(step)
    chains = []
    for steps in by_node.values():
        kind = trace.kind(steps[0])
        domain = Domain(kind)
        inputs = [inputs_of(step, kind, senders) for step in steps]
        chain = _Chain(
            steps=steps,
            kind=kind,
            lines=[_line(step, found) for step, found in zip(steps, inputs, strict=True)],
            cut=[domain.cut(step, found) for step, found in zip(steps, inputs, strict=True)],
            first=None,
        )
        if not trace.from_initial:
            chain.first = Record(dict(steps[0].before)) if steps[0].before else None
            hidden = sorted(domain.row_fields - set(steps[0].before))
            if hidden:
                chain.doubt = f"the first row hides {', '.join(hidden)}, and it is not initial"
        chains.append(chain)
    return chains


def _line(step: ForeignStep, inputs: Sequence[Record]) -> Line:
    sent: Value = ()
    if step.sent is not None:
        sent = (tuple(Record(dict(message)) for message in step.sent),)
    return {
        "before": Record(dict(step.before)) if step.before else (),
        "inputs": tuple(inputs),
        "after": Record(dict(step.after)) if step.after else (),
        "sent": sent,
        "ignored": () if step.ignored is None else (step.ignored,),
    }


def _groups(chains: Sequence[_Chain]) -> Iterator[list[_Chain]]:
    """Chains for one run of TLC each: of one kind of node, and not too many lines."""
    for kind in dict.fromkeys(chain.kind.name for chain in chains):
        group: list[_Chain] = []
        for chain in chains:
            if chain.kind.name != kind or chain.doubt:
                continue
            if group and sum(len(c.lines) for c in [*group, chain]) > CHUNK:
                yield group
                group = []
            group.append(chain)
        if group:
            yield group


class _Session:
    """Runs TLC on groups of chains, and keeps the account of what that cost."""

    def __init__(self, trace: ForeignTrace, specs: Path) -> None:
        self.trace = trace
        self.specs = specs
        self.logged: Mapping[str, Value] = logged_values(trace)
        self.runs = 0
        self.cpu_seconds = 0.0
        self.distinct = 0

    def judge(self, group: list[_Chain]) -> None:
        """Enters what became of each chain of the group."""
        search = self._search(group)
        found = run_search(search, CHECK)
        self.runs += 1
        self.cpu_seconds += found.cpu_seconds
        if found.error and len(group) > 1:
            # One step that TLC cannot evaluate must not cost the others their verdicts.
            for chain in group:
                self.judge([chain])
            return
        if found.canary:
            raise ToolError("TLC accepted a line that is impossible: it cannot be trusted")
        self.distinct += search.distinct
        for chain, accepted in zip(group, found.accepted, strict=True):
            chain.done, chain.accepted = True, accepted
            if not chain.whole:
                chain.doubt = found.error or found.stopped or self._cut(chain)
        rejected = [chain for chain in group if not chain.whole and not chain.doubt]
        if rejected:
            self._explain(rejected)

    def _search(self, group: Sequence[_Chain]) -> Search:
        hidden = Domain(group[0].kind).hidden
        return Search(
            frame=step_frame(group[0].kind, self.trace.constants, self.specs, module=hidden.module),
            logged=self.logged,
            nodes=[chain.node for chain in group],
            firsts=[chain.first for chain in group],
            chains=[chain.lines for chain in group],
            impossible=hidden.impossible,
        )

    def _cut(self, chain: _Chain) -> str:
        """Why the end of a whole search is no rejection; "" if it is one."""
        for step, cut in zip(chain.steps, chain.cut[: chain.accepted + 1], strict=False):
            if cut:
                return (
                    f"no behaviour found, but line {step.line} hides {', '.join(cut)} of what "
                    "was received, and not every value was tried"
                )
        return ""

    def _explain(self, rejected: list[_Chain]) -> None:
        search = self._search(rejected)
        told, seconds = narrate(search, [chain.accepted for chain in rejected], CHECK)
        self.runs += 1
        self.cpu_seconds += seconds
        for chain, lines in zip(rejected, told, strict=True):
            step = chain.steps[chain.accepted]
            # The latest is the nearest, and one is enough to look at.
            lines = [*lines, *never_taken(self.trace, step)[-1:]]
            chain.rejection = Rejection(step.line, step.run, step.node, step.action, lines)
