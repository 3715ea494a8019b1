"""A driver for TLC, the model checker of TLA+. Re-exports only; README.md has the reading order."""

from tla_utils.errors import ToolError
from tla_utils.jar import Jar, Java, find_jar, find_java
from tla_utils.output import ActionCount, State, TlcResult, Violation, parse_output
from tla_utils.runner import ModuleText, Simulate, TlcJob, command_line, run_tlc
from tla_utils.values import Function, ModelValue, Record, Value, function, parse, render

__all__ = [
    "ActionCount",
    "Function",
    "Jar",
    "Java",
    "ModelValue",
    "ModuleText",
    "Record",
    "Simulate",
    "State",
    "TlcJob",
    "TlcResult",
    "ToolError",
    "Value",
    "Violation",
    "command_line",
    "find_jar",
    "find_java",
    "function",
    "parse",
    "parse_output",
    "render",
    "run_tlc",
]
