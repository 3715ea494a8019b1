"""From what TLC printed to a verdict.

Laws of this file:

* The exit code is not evidence. With `-continue` TLC exits with 0 and prints "Model checking
  completed. No error has been found." although it has reported violations. A verdict is read from
  the numbered messages of `-tool` mode, and the exit code may only take a "holds" away.
* "holds" needs all of: the completion message, no error message, final counts with an empty queue
  and at least one distinct state, exit code 0. Anything less is "unknown" with a reason.
* What TLC says about its *input* (a module that does not parse, a cfg that names a missing
  operator) is not a verdict: `parse_output` raises ToolError with one line.

Message numbers are those of `tlc2.output.EC` in TLC 2.15.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Literal

from tla_utils.errors import ToolError
from tla_utils.values import Value, parse, parse_prefix, parse_state

Verdict = Literal["holds", "violated", "unknown"]
Kind = Literal["safety", "action", "liveness", "deadlock", "assumption", "error"]

BANNER = 2262
COMPLETED = 2193
LOOP_BACK, STUTTERING = 2122, 2218
STATES = (2216, 2217)
# Final and running counts: breadth-first, depth-first, simulation.
COUNTS = (2199, 2200, 2204, 2206, 2209, 2210)
FINAL_COUNTS = 2199
SIMULATION_COUNTS = 2209
DEPTH = 2194
ACTION_COVERAGE = 2772
BACKTRACE_FOLLOWS = 2103
OUT_OF_MEMORY = (1001, 1002)

# What a message with this number means, for the kinds of violation.
VIOLATIONS: dict[int, Kind] = {
    2107: "safety",
    2110: "safety",
    2108: "action",
    2112: "action",
    2116: "liveness",
    2114: "deadlock",
    2104: "assumption",
}

_START = re.compile(r"@!@!@STARTMSG (\d+):(\d+) @!@!@")
_END = re.compile(r"@!@!@ENDMSG (\d+) @!@!@")
_NAMED = re.compile(r"(?:Invariant|Action property|Property) (.+?) is (?:violated|false)")
_STATE_HEAD = re.compile(r"(\d+):\s*(?:<(.*?)>)?\s*\Z")
_ACTION = re.compile(r"(\S+) line \d+, col \d+")
_COVERAGE = re.compile(r"<(.+?) line \d+, col \d+ .*?>: (\d+):(\d+)")
_GENERATED = re.compile(r"([\d,]+) states generated|states generated: ([\d,]+)")
_DISTINCT = re.compile(r"(-?[\d,]+) distinct states found")
_QUEUE = re.compile(r"(-?[\d,]+) states left on queue")
_PROGRESS_DEPTH = re.compile(r"Progress\((\d+)\)")
_SANY_FILE = re.compile(r"Parsing file (.+)")
_TROUBLE_STATE = re.compile(r"While working on the initial state:\n(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Message:
    """One numbered message: code, severity (0 info, 1 error, 3 warning, 4 state), its text."""

    code: int
    severity: int
    text: str


@dataclass(frozen=True, slots=True)
class State:
    """One state of a counterexample.

    number counts from 1 as TLC prints it; action is the name of the action that led here, or
    "<Initial predicate>"; values maps each variable to its parsed value.
    """

    number: int
    action: str
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation as TLC reported it."""

    kind: Kind
    property: str | None
    """The name in the cfg; for liveness TLC prints no name, so None unless the cfg has only one
    property. states is the counterexample (one state for an initial state). A liveness
    counterexample either loops back to the state with number `loop_to` after its last state, or
    stutters for ever in its last state.
    """
    states: list[State] = field(default_factory=list)
    loop_to: int | None = None
    stuttering: bool = False


@dataclass(frozen=True, slots=True)
class ActionCount:
    """Coverage of one action: new distinct states it found, states it generated."""

    distinct: int
    generated: int


@dataclass(frozen=True, slots=True)
class TlcResult:
    """What one run of TLC established.

    verdict: holds, violated, or unknown; `reason` says why it is unknown, else it is "".
    kind, property, counterexample, loop_to, stuttering: those of the first violation; `kind` is
        "error" when TLC reported an error instead. All violations (with -continue) are in
        `violations`.
    generated, distinct, depth, queue_left: TLC's last counts, None where it printed none.
    complete: TLC explored everything within the model's bounds.
    coverage: per action, when coverage was asked for.
    errors, warnings: one line per error and warning message.
    error_state: the initial state TLC was evaluating when an error stopped it, or None.
    stopped: why the run ended too early (time, memory), whatever its verdict; else "".
    printed: the values that Print and PrintT wrote, as text, in order.
    modules: the module files that SANY read.
    seconds, cpu_seconds: wall time and processor time. peak_rss_mb: resident memory in MiB, at
        least that of the Python process when it started the run.
    """

    verdict: Verdict
    reason: str
    kind: Kind | None = None
    property: str | None = None
    counterexample: list[State] = field(default_factory=list)
    loop_to: int | None = None
    stuttering: bool = False
    violations: list[Violation] = field(default_factory=list)
    generated: int | None = None
    distinct: int | None = None
    depth: int | None = None
    queue_left: int | None = None
    complete: bool = False
    coverage: dict[str, ActionCount] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error_state: dict[str, Value] | None = None
    stopped: str = ""
    printed: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    exit_code: int | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss_mb: float = 0.0

    def printed_values(self) -> list[Value]:
        """The values that PrintT wrote, parsed; printed text that is no value is left out."""
        values = []
        for text in self.printed:
            try:
                values.append(parse(text))
            except ValueError:
                continue
        return values


def parse_output(
    text: str,
    exit_code: int | None,
    *,
    properties: list[str] | None = None,
    stopped: str = "",
) -> TlcResult:
    """Parse TLC's `-tool` output.

    Args:
        text: the output.
        exit_code: of the process; None if it was killed.
        properties: the temporal properties of the cfg, to name a liveness violation.
        stopped: the reason why the process was stopped early. It makes everything except a
            violation "unknown" with this reason.

    Raises:
        ToolError: the text is not TLC's, or TLC refused the module or the cfg.
    """
    messages, outside = _split(text)
    if not any(message.code == BANNER for message in messages):
        if stopped:
            return TlcResult("unknown", stopped, stopped=stopped, exit_code=exit_code)
        said = next((line for line in text.splitlines() if line.strip()), "nothing")
        raise ToolError(f"this is not the output of TLC (exit code {exit_code}): {said[:200]}")
    _refuse_bad_input(messages, outside)

    violations = list(_violations(messages, properties or []))
    errors = [message for message in messages if _is_error(message)]
    if any(message.code in OUT_OF_MEMORY for message in messages):
        stopped = stopped or "TLC ran out of memory: give it a larger heap or a smaller model"
    counts = _counts(messages)
    complete = any(message.code == COMPLETED for message in messages) and not errors
    verdict, reason = _verdict(violations, errors, counts, complete, exit_code, stopped)
    first = violations[0] if violations else None
    no_state = counts.get("generated") == 0
    return TlcResult(
        verdict=verdict,
        reason=reason,
        kind=first.kind if first else ("error" if errors or no_state else None),
        property=first.property if first else None,
        counterexample=first.states if first else [],
        loop_to=first.loop_to if first else None,
        stuttering=first.stuttering if first else False,
        violations=violations,
        generated=counts.get("generated"),
        distinct=counts.get("distinct"),
        depth=counts.get("depth"),
        queue_left=counts.get("queue_left"),
        complete=complete,
        coverage=_coverage(messages),
        errors=[_one_line(message) for message in errors],
        warnings=[_one_line(m) for m in messages if m.severity == 3 and m.code != 2401],
        error_state=_error_state(errors),
        stopped=stopped,
        printed=list(_printed(outside)),
        modules=_SANY_FILE.findall("\n".join(outside)),
        exit_code=exit_code,
    )


def _split(text: str) -> tuple[list[Message], list[str]]:
    """Split the output into messages and the text between them.

    The text has one block for each gap, with SANY's lines and printed values. A message may stand
    inside another one (TLC quotes it); both are returned.
    """
    messages: list[Message] = []
    outside: list[str] = []
    opened: list[tuple[int, int, list[str]]] = []
    gap: list[str] = []
    for line in text.splitlines():
        start, end = _START.search(line), _END.match(line)
        if start:
            if not opened:
                outside.append("\n".join(gap))
                gap = []
            else:
                opened[-1][2].append(line[: start.start()])
            opened.append((int(start.group(1)), int(start.group(2)), []))
        elif end and opened and opened[-1][0] == int(end.group(1)):
            code, severity, lines = opened.pop()
            body = "\n".join(lines)
            messages.append(Message(code, severity, body))
            if opened:
                opened[-1][2].append(body)
        elif opened:
            opened[-1][2].append(line)
        else:
            gap.append(line)
    # A message that never ended: the process was killed while it printed. Its text is no evidence.
    outside.append("\n".join(gap))
    return messages, outside


def _is_error(message: Message) -> bool:
    # Violations and their behaviours are severity 1 as well; they are not errors of the run.
    informative = (*VIOLATIONS, 2121, 2264, BACKTRACE_FOLLOWS)
    return message.severity == 1 and message.code not in informative


def _one_line(message: Message) -> str:
    return " ".join(message.text.split())


_FOREWORD = re.compile(
    r"^TLC threw an unexpected exception\..*?The exception was an? \S+\s*: (?=\S)"
)
"""What TLC says of every exception before it comes to what this one says."""


# Messages by which TLC refuses its input: names in the cfg (2222..2245), the cfg's own syntax
# (5001..5006), the command line (1100s), modules that do not parse (3002, 3003).
_CONFIG_CODES = range(2222, 2246)
_CONFIG_SYNTAX = range(5001, 5010)
_PARSER_CODES = (3001, 3002, 3003)
_PARSER_FAILED = "Parsing or semantic analysis failed"
_USAGE_CODES = range(1101, 1120)


def _refuse_bad_input(messages: list[Message], outside: list[str]) -> None:
    for message in messages:
        if message.code in _PARSER_CODES or message.text.startswith(_PARSER_FAILED):
            raise ToolError(f"a module does not parse: {_sany_complaint(outside)}")
        if message.code in _CONFIG_CODES and message.severity == 1:
            raise ToolError(f"the cfg does not fit the module: {_one_line(message)}")
        if message.code in _CONFIG_SYNTAX:
            raise ToolError(f"the cfg cannot be read: {_one_line(message)}")
        if message.code in _USAGE_CODES and message.severity == 1:
            raise ToolError(f"TLC refused its command line: {_one_line(message)}")


_SANY_NOISE = re.compile(
    r"(Parsing file|Semantic processing of|Semantic errors:|\*\*\*|Fatal errors|Residual stack|"
    r"Could not parse module|In module|Linting|\s*$)"
)


def _sany_complaint(outside: list[str]) -> str:
    """The first complaint of the parser, with its place, out of SANY's free text."""
    lines = [line for block in outside for line in block.splitlines()]
    current = ""
    for index, line in enumerate(lines):
        parsing = _SANY_FILE.match(line)
        current = parsing.group(1) if parsing else current
        if line.startswith("***") and "Parse Error" in line:
            return f"{current}: {' '.join(_meaningful(lines[index + 1 :])[:2])}"
        if line.startswith(("Semantic errors", "*** Errors", "*** Abort")):
            return " ".join(_meaningful(lines[index + 1 :])[:2])
        if "Cannot find source file for module" in line:
            return line.strip()
    return " ".join(_meaningful(lines)[:2]) or "SANY gave no reason"


def _meaningful(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if not _SANY_NOISE.match(line)]


def _violations(messages: list[Message], properties: list[str]) -> Iterator[Violation]:
    """Each violation message with the states behind it, up to the next violation."""
    starts = [i for i, message in enumerate(messages) if message.code in VIOLATIONS]
    # With -continue most counterexamples begin alike: each state is read once.
    read = cache(_state)
    for start, end in pairwise([*starts, len(messages)]):
        message = messages[start]
        kind = VIOLATIONS[message.code]
        states: list[State] = []
        loop_to, stuttering = None, False
        named = _NAMED.search(message.text)
        name = named.group(1) if named else None
        if kind == "liveness" and len(properties) == 1:
            name = properties[0]
        if message.code in (2107, 2108):
            # "Invariant X is violated by the initial state:" carries the state itself.
            states.append(State(1, "<Initial predicate>", read(message.text.partition("\n")[2])))
        for follower in messages[start + 1 : end]:
            if follower.code in STATES:
                states.append(_numbered_state(follower.text, read))
            elif follower.code == STUTTERING:
                stuttering = True
            elif follower.code == LOOP_BACK:
                loop_to = int(follower.text.split(":")[0])
            elif follower.severity == 1 and _is_error(follower):
                break
        if kind == "assumption":
            name = _one_line(message)
        yield Violation(kind, name, states, loop_to, stuttering)


def _numbered_state(text: str, read: Callable[[str], dict[str, Value]]) -> State:
    head, _, body = text.partition("\n")
    match = _STATE_HEAD.match(head)
    if match is None:
        raise ToolError(f"TLC printed a state this parser does not know: {head!r}")
    label = match.group(2) or ""
    action = _ACTION.match(label)
    name = "<Initial predicate>" if label == "Initial predicate" else label
    return State(int(match.group(1)), action.group(1) if action else name, read(body))


def _state(text: str) -> dict[str, Value]:
    try:
        return parse_state(text)
    except ValueError as error:
        raise ToolError(f"TLC printed a state this parser cannot read: {error}") from error


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _counts(messages: list[Message]) -> dict[str, int]:
    """The last counts TLC printed; -1 is TLC's "not counted" and is left out."""
    counts: dict[str, int] = {}
    for message in messages:
        if message.code == DEPTH:
            counts["depth"] = int(message.text.rstrip(".").split()[-1])
        if message.code not in COUNTS:
            continue
        generated = _GENERATED.search(message.text)
        distinct, queue = _DISTINCT.search(message.text), _QUEUE.search(message.text)
        depth = _PROGRESS_DEPTH.search(message.text)
        if generated:
            counts["generated"] = _number(generated.group(1) or generated.group(2))
        if distinct and _number(distinct.group(1)) >= 0:
            counts["distinct"] = _number(distinct.group(1))
        if queue and _number(queue.group(1)) >= 0:
            counts["queue_left"] = _number(queue.group(1))
        if depth and "depth" not in counts:
            counts["progress_depth"] = int(depth.group(1))
        if message.code == FINAL_COUNTS:
            counts["final"] = 1
        if message.code == SIMULATION_COUNTS:
            counts["simulated"] = 1
    if "progress_depth" in counts:
        counts.setdefault("depth", counts["progress_depth"])
    return counts


def _coverage(messages: list[Message]) -> dict[str, ActionCount]:
    """Per action, from the last report; disjuncts of one action are separate lines: summed."""
    coverage: dict[str, ActionCount] = {}
    for message in messages:
        if message.code == 2201:
            coverage = {}
        match = _COVERAGE.match(message.text) if message.code == ACTION_COVERAGE else None
        if match:
            old = coverage.get(match.group(1), ActionCount(0, 0))
            coverage[match.group(1)] = ActionCount(
                old.distinct + int(match.group(2)), old.generated + int(match.group(3))
            )
    return coverage


def _error_state(errors: list[Message]) -> dict[str, Value] | None:
    for message in errors:
        match = _TROUBLE_STATE.search(message.text)
        if match:
            try:
                return parse_state(match.group(1))
            except ValueError:
                return None
    return None


def _verdict(
    violations: list[Violation],
    errors: list[Message],
    counts: dict[str, int],
    complete: bool,
    exit_code: int | None,
    stopped: str,
) -> tuple[Verdict, str]:
    if violations:
        return "violated", ""
    if stopped:
        return "unknown", stopped
    if errors:
        said = _FOREWORD.sub("", _one_line(errors[0]))
        return "unknown", f"TLC reported an error: {said}"
    if counts.get("generated") == 0 or counts.get("distinct") == 0:
        return "unknown", "TLC found no state at all: the initial predicate admits none"
    if counts.get("simulated"):
        return "unknown", "random simulation found no violation, which proves nothing"
    if not complete:
        return "unknown", "TLC ended without exploring every state within the bounds"
    if counts.get("final") and counts.get("queue_left") != 0:
        return "unknown", f"TLC left {counts.get('queue_left')} states unexplored"
    if "distinct" not in counts:
        return "unknown", "TLC printed no state counts"
    if exit_code != 0:
        return "unknown", f"TLC printed success but exited with {exit_code}"
    return "holds", ""


def _printed(outside: list[str]) -> Iterator[str]:
    """Read what Print and PrintT wrote.

    Values may span lines, so each is read as one value; a line that is no value (Print's second
    argument follows on the same line) is kept as it is.
    """
    for block in outside:
        position = 0
        while position < len(block):
            end = _line_end(block, position)
            line = block[position:end]
            if line.strip() and not _SANY_NOISE.match(line):
                with contextlib.suppress(ValueError):
                    _, stop = parse_prefix(block, position)
                    if not block[stop : _line_end(block, stop)].strip():
                        end = stop
                yield block[position:end].strip()
            position = _line_end(block, end) + 1


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
