"""TLC's words become a verdict only when they add up; each rule is seen to refuse once."""

from __future__ import annotations

import re

import pytest

from tla_utils.errors import ToolError
from tla_utils.output import TlcResult, parse_output


def message(code: int, text: str, severity: int = 0) -> str:
    return f"@!@!@STARTMSG {code}:{severity} @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n"


BANNER = message(2262, "TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)")
COMPLETED = message(2193, "Model checking completed. No error has been found.")
COUNTS = message(2199, "1,024 states generated, 12 distinct states found, 0 states left on queue.")
DEPTH = message(2194, "The depth of the complete state graph search is 4.")
VIOLATED = message(2110, "Invariant Small is violated.", 1)
STATE = message(2217, "1: <Initial predicate>\n/\\ x = 1\n/\\ y = {}", 4)
STEP = message(
    2217, "2: <Up line 9, col 7 to line 9, col 40 of module M>\n/\\ x = 2\n/\\ y = {}", 4
)


def parsed(*parts: str, exit_code: int | None = 0, stopped: str = "") -> TlcResult:
    return parse_output("".join(parts), exit_code, properties=["Live"], stopped=stopped)


def test_a_complete_run_holds() -> None:
    result = parsed(BANNER, COMPLETED, COUNTS, DEPTH)
    assert result.verdict == "holds" and result.complete and result.kind is None
    assert (result.generated, result.distinct, result.queue_left, result.depth) == (1024, 12, 0, 4)


def test_the_depth_is_the_last_that_was_told() -> None:
    told = message(
        2200, "Progress(3) at 2026-01-01 00:00:00: 9 states generated, 9 distinct states"
    )
    assert parsed(BANNER, told, COMPLETED, COUNTS, DEPTH).depth == 4
    assert parsed(BANNER, told, COMPLETED, COUNTS).depth == 3


EXCEPTION = """TLC threw an unexpected exception.
This was probably caused by an error in the spec or model.
See the User Output or TLC Console for clues to what happened.
The exception was a java.lang.RuntimeException
: Attempted to select nonexistent field "lastEpoc" from the record
[ epoch |-> 0 ]"""


@pytest.mark.parametrize(
    ("parts", "exit_code", "reason"),
    [
        ([BANNER, COUNTS, DEPTH], 0, "without exploring every state"),
        ([BANNER, COMPLETED], 0, "no state counts"),
        ([BANNER, COMPLETED, COUNTS], 1, "exited with 1"),
        ([BANNER, COMPLETED, COUNTS.replace("0 states left", "7 states left")], 0, "7 states"),
        (
            [BANNER, COMPLETED, COUNTS.replace("12", "0").replace("1,024", "0")],
            0,
            "no state at all",
        ),
        ([BANNER, message(1001, "Java ran out of memory.", 1)], 255, "out of memory"),
        ([BANNER, message(2200, "Progress(2): nothing"), COMPLETED[:60]], 0, "without exploring"),
        ([BANNER, message(1000, "TLC threw an\nunexpected exception.", 1), COMPLETED, COUNTS], 0,
         "error: TLC threw an unexpected exception."),
        ([BANNER, message(1000, EXCEPTION, 1), COMPLETED, COUNTS], 0,
         'error: Attempted to select nonexistent field "lastEpoc" from'),
        ([BANNER, *(message(1000, said, 1) for said in ("one", "two")), COMPLETED, COUNTS], 0,
         "error: one"),
        ([BANNER, message(2209, "Progress: 90 states generated, -1 distinct states found")], 0,
         "simulation"),
    ],
)  # fmt: skip
def test_anything_less_is_unknown(parts: list[str], exit_code: int, reason: str) -> None:
    result = parsed(*parts, exit_code=exit_code)
    assert result.verdict == "unknown" and reason in result.reason


def test_a_stopped_run_is_unknown_unless_it_had_found_something() -> None:
    assert parsed(BANNER, exit_code=None, stopped="too long").reason == "too long"
    assert parsed("", exit_code=None, stopped="too long").verdict == "unknown"
    found = parsed(BANNER, VIOLATED, STATE, exit_code=None, stopped="too long")
    assert found.verdict == "violated" and found.stopped == "too long"


def test_success_and_exit_code_0_do_not_hide_a_violation() -> None:
    result = parsed(BANNER, VIOLATED, STATE, STEP, COMPLETED, COUNTS)
    assert (result.verdict, result.kind, result.property) == ("violated", "safety", "Small")
    assert [(s.number, s.action, s.values["x"]) for s in result.counterexample] == [
        (1, "<Initial predicate>", 1),
        (2, "Up", 2),
    ]


def test_each_violation_keeps_its_own_states() -> None:
    action = message(2112, "Action property Monotone is violated.", 1)
    result = parsed(BANNER, VIOLATED, STATE, action, STATE, STEP, COMPLETED, COUNTS)
    assert [(v.kind, v.property, len(v.states)) for v in result.violations] == [
        ("safety", "Small", 1),
        ("action", "Monotone", 2),
    ]


def test_lassos_and_stuttering() -> None:
    temporal = message(2116, "Temporal properties were violated.", 1)
    back = message(2122, "1: Back to state: <Down line 2, col 3 to line 2, col 9 of module M>", 4)
    loop = parsed(BANNER, temporal, STATE, STEP, back, exit_code=13)
    assert (loop.kind, loop.property, loop.loop_to) == ("liveness", "Live", 1)
    stutter = parsed(BANNER, temporal, STATE, message(2218, "2: Stuttering", 4), exit_code=13)
    assert stutter.stuttering and len(stutter.counterexample) == 1


@pytest.mark.parametrize("text", ["", "hello\nworld", "Error: Could not find or load main class"])
def test_other_output_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="not the output of TLC"):
        parsed(text, exit_code=1)


SANY = """\
Processing what it extends
Semantic errors:

*** Errors: 1

line 5, col 3 to line 5, col 5 of module M

Unknown operator: `Nat'.
"""


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            [SANY, message(3002, "Parsing or semantic analysis failed.", 1)],
            "does not parse: line 5, col 3 to line 5, col 5 of module M Unknown operator: `Nat'.",
        ),
        ([message(1101, "unknown option: -x", 1)], "refused its command line: unknown option: -x"),
    ],
)
def test_what_tlc_cannot_begin_with_is_refused_with_its_words(parts: list[str], said: str) -> None:
    with pytest.raises(ToolError, match=re.escape(said)):
        parsed(BANNER, *parts, exit_code=1)


def test_states_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ToolError, match="cannot read"):
        parsed(BANNER, VIOLATED, STATE.replace("{}", "Nat"))
    with pytest.raises(ToolError, match="does not know"):
        parsed(BANNER, VIOLATED, STATE.replace("1: <Initial predicate>", "state one"))


def test_printed_values_may_span_lines() -> None:
    printed = '<< "id",\n   [ a |-> 1,\n     b |-> {2} ] >>\n"x"  TRUE\n7\n'
    result = parsed(BANNER, printed, COMPLETED, COUNTS)
    assert len(result.printed) == 3 and result.printed[1] == '"x"  TRUE'
    assert [type(value).__name__ for value in result.printed_values()] == ["tuple", "int"]


def test_error_state_is_the_one_tlc_was_at() -> None:
    text = "Attempted to select...\nWhile working on the initial state:\n/\\ x = 2\n/\\ y = {}"
    assert parsed(BANNER, message(2102, text, 1)).error_state == {"x": 2, "y": frozenset()}
    assert parsed(BANNER, message(2102, "no state", 1)).error_state is None


def test_the_last_coverage_report_counts() -> None:
    report = message(2201, "The coverage statistics") + message(
        2772, "<Up line 6, col 1 to line 6, col 3 of module M>: 3:4"
    )
    later = report.replace("3:4", "5:9") + message(
        2772, "<Up line 6, col 1 to line 6, col 3 of module M>: 1:1"
    )
    coverage = parsed(BANNER, report, later, COMPLETED, COUNTS).coverage
    assert (coverage["Up"].distinct, coverage["Up"].generated) == (6, 10)
