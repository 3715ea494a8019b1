"""Attempt moves on the reference that the graph does not have; TLC says what should happen.

For every row that some state of the graph has, three kinds of input are attempted:

* every input of the node's own, of this row and of all others of the graph, whether the row has a
  use for it or not: timers that are not armed, a flush with nothing to flush, a wait that nobody
  waits;
* every message to this node that occurs anywhere in the graph, whether or not it was sent yet:
  votes of other epochs, answers to requests that were never made, fetches of other leaders;
* mutants of all those (`mutants`): one field moved by one, turned round, or taken from another
  node, in a message also in the request that it answers.

What is right is not decided here. Each distinct attempt (row, input) with what the reference made
of it is a step that TLC judges against the spec's own handler, field by field; "disabled" is judged
as well: then the spec must have no outcome. The kinds of refusal are only counted here. Canaries
(traces/steps/judge.py) are among them, which TLC must reject.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.fields import fields_of
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import kind_of
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.rulebook import InputLike, Result, RowLike, RuleBook, tell
from kraftcheck.traces.steps.judge import REASON, planted_among, report_among, spoiled
from kraftcheck.traces.steps.translation import DISABLED, Abstraction, step_frame
from tla_utils import CheckOptions, StepFrame, StepTable, ToolError, Value
from tla_utils.steps import Progress

KINDS: Final = ("disabled", "ignored", "error", "vote refused", "accepted")


@dataclass
class Refusals:
    attempts: int = 0
    """(row, input) pairs that were tried, all distinct."""
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    """Action -> kind -> how many."""
    errors: Counter[str] = field(default_factory=Counter)
    """Error code -> how many responses carry it."""
    unchanged: int = 0
    """Attempts after which the row was what it had been, the refused ones among them."""
    skipped: int = 0
    """Mutants beyond the limit."""
    rejected: list[str] = field(default_factory=list)
    """Those that TLC does not allow, in readable lines."""
    unknown: int = 0
    """Those that TLC could not judge."""
    runs: int = 0
    cpu_seconds: float = 0.0

    def total(self, kind: str) -> int:
        return sum(counts[kind] for counts in self.kinds.values())


def sort_of(before: RowLike, result: Result | None) -> str:
    """What came of an attempt, in one word; only for counting."""
    if result is None:
        return "disabled"
    if result.ignored:
        return "ignored"
    if any(getattr(m, "error", "NONE") != "NONE" for m in result.sent):
        return "error"
    if any(getattr(m, "granted", True) is False for m in result.sent) and result.row == before:
        return "vote refused"
    return "accepted"


class _Taken(NamedTuple):
    """What the reference made of an input; no result: it found it disabled."""

    node: int
    before: RowLike
    input: InputLike
    result: Result | None


def _canary(taken: _Taken, turn: int) -> _Taken:
    """A copy with one thing wrong.

    Of what is disabled the frame asks nothing but that, so there it is the reason in any turn.
    """
    if taken.result is None:
        return taken._replace(result=Result(taken.before, (), REASON))
    row, sent, ignored = taken.result
    step = {"input": taken.input, "after": row, "sent": sent, "ignored": ignored}
    wrong = spoiled(step, turn)
    return taken._replace(result=Result(wrong["after"], wrong["sent"], wrong["ignored"]))


class _Table:
    """Steps by column, each value abstracted once."""

    def __init__(self, book: RuleBook) -> None:
        self._form = Abstraction(book.constants)
        self.values: dict[str, list[Value]] = {
            name: [] for name in ("action", "node", "before", "input", "after", "sent", "ignored")
        }
        self.index: dict[str, list[int]] = {name: [] for name in self.values}
        self._known: dict[str, dict[Any, int]] = {name: {} for name in self.values}

    def _enter(self, column: str, key: Any, value: Callable[[], Value]) -> None:
        known = self._known[column]
        position = known.get(key)
        if position is None:
            position = known[key] = len(self.values[column])
            self.values[column].append(value())
        self.index[column].append(position)

    def add(self, taken: _Taken) -> None:
        node, before, input, result = taken
        form = self._form
        after, sent, ignored = result if result is not None else (before, (), DISABLED)
        action = action_name(type(input))
        self._enter("action", action, lambda: action)
        self._enter("node", node, lambda: node)
        self._enter("before", before, lambda: form.row(before))
        self._enter("input", input, lambda: form.input(input))
        self._enter("after", after, lambda: form.row(after))
        self._enter("sent", sent, lambda: form.sent(sent))
        self._enter("ignored", ignored, lambda: ignored)


def attempts_of(matcher: Matcher, limit: int) -> tuple[list[tuple[int, RowLike, InputLike]], int]:
    """The distinct (node, row, input) to attempt, and how many mutants the limit left out.

    Beyond `limit` mutants are thinned evenly: every k-th of them in a fixed order.
    """
    book, log = matcher.book, matcher.longest_log()
    certain: dict[tuple[int, RowLike, InputLike], None] = {}
    doubtful: dict[tuple[int, RowLike, InputLike], None] = {}
    messages = [m for m in matcher.messages if m is not None]
    for node, rows in _rows_by_node(matcher).items():
        incoming = [m for m in messages if m.destination == node]
        own = {row: dict.fromkeys(book.attempts(node, row, log)) for row in rows}
        known = dict.fromkeys([*incoming, *(input for each in own.values() for input in each)])
        known |= dict.fromkeys(_timers(book, node, messages))
        changed = dict.fromkeys(mutant for input in known for mutant in book.mutants(input))
        strange = [*known, *(input for input in changed if input not in known)]
        for row in rows:
            certain |= dict.fromkeys((node, row, input) for input in (*own[row], *incoming))
            doubtful |= dict.fromkeys((node, row, input) for input in strange)
    for each in certain:
        doubtful.pop(each, None)
    stride = max(1, -(-len(doubtful) // max(1, limit)))
    chosen = list(doubtful)[::stride]
    return [*certain, *chosen], len(doubtful) - len(chosen)


def _timers(book: RuleBook, node: int, messages: Sequence[InputLike]) -> Iterator[InputLike]:
    """A node's inputs that have no fields, or a message alone: timers that may not be armed."""
    for of in book.protocol.kind_of(book.constants, node).inputs:
        fields = fields_of(of)
        if of in book.messages or len(fields) > 1:
            continue
        if not fields:
            yield of()
        elif set(fields[0].structs) & {*book.messages}:
            yield from (of(m) for m in messages if type(m) in fields[0].structs)


def _rows_by_node(matcher: Matcher) -> dict[int, list[RowLike]]:
    found: dict[int, dict[int, None]] = {node: {} for node in matcher.book.nodes}
    for rows, *_ in matcher.states:
        for node, piece in zip(matcher.book.nodes, rows, strict=True):
            found[node][piece] = None
    return {
        node: [matcher.rows[piece] for piece in pieces if piece in matcher.rows]
        for node, pieces in found.items()
    }


def refuse(
    matcher: Matcher,
    limit: int = 100_000,
    options: CheckOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Refusals:
    """Attempts everything that `attempts_of` lists and has TLC judge what came of it.

    The local steps of the graph's own moves are judged with them, so that what they sent and why
    they ignored an input is compared exactly as well: the graph shows neither.
    Raises ToolError when there is nothing to attempt.
    """
    book = matcher.book
    attempts, skipped = attempts_of(matcher, limit)
    if not attempts:
        raise ToolError("there is nothing to attempt: an empty graph refuses nothing")
    found = Refusals(attempts=len(attempts), skipped=skipped)
    kinds = {node: kind_of(book.constants, node) for node in book.nodes}
    # As keys, since attempts repeat moves.
    taken: dict[NodeKind, dict[_Taken, None]] = {kind: {} for kind in kinds.values()}
    for step in matcher.moves.steps:
        taken[kinds[step.node]][_Taken(step.node, step.before, step.input, step.result)] = None
    for node, row, input in attempts:
        result = next(iter(book.outcomes(node, row, input)), None)
        taken[kinds[node]][_Taken(node, row, input, result)] = None
        _count(found, action_name(type(input)), row, result)
    for kind, moves in taken.items():
        frame = step_frame(kind, book.constants, refusals=True)
        _judge(found, frame, book, [*moves], options, progress)
    return found


def _judge(
    found: Refusals,
    frame: StepFrame,
    book: RuleBook,
    steps: Sequence[_Taken],
    options: CheckOptions | None,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Has TLC judge the steps of one frame."""
    if not steps:
        return
    asked, canary = planted_among(steps, _canary)
    table = _Table(book)
    for taken in asked:
        table.add(taken)
    report = report_among(
        frame,
        StepTable(table.values, table.index),
        canary,
        options or CheckOptions(chunk=50_000, heap_mb=2048),
        progress,
    )
    found.runs += report.runs
    found.cpu_seconds += report.cpu_seconds
    found.unknown += len(report.numbers("unknown"))
    found.rejected += [_told(steps[at]) for at in report.numbers("rejected")]


def _count(found: Refusals, action: str, row: RowLike, result: Result | None) -> None:
    found.kinds.setdefault(action, Counter())[sort_of(row, result)] += 1
    found.unchanged += result is None or result.row == row
    if result is not None:
        found.errors.update(m.error for m in result.sent if getattr(m, "error", "NONE") != "NONE")


def _told(taken: _Taken) -> str:
    node, before, input, result = taken
    row = msgspec.json.encode(before).decode()
    made = "finds it disabled"
    if result is not None:
        sent = ", ".join(tell(m) for m in result.sent) or "nothing"
        made = f"makes {msgspec.json.encode(result.row).decode()}, sends {sent}"
        made += f", ignored: {result.ignored}" if result.ignored else ""
    return f"node {node} in {row} at {tell(input)}: the reference {made}"
