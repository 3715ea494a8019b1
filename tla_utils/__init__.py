"""A driver for TLC, the model checker of TLA+. Re-exports only; README.md has the reading order."""

from tla_utils.diagnosis import Diagnosis, Difference, diagnose
from tla_utils.errors import ToolError
from tla_utils.jar import Jar, Java, find_jar, find_java
from tla_utils.manifest import Manifest, Model, lint, read_manifest
from tla_utils.models import ModelResult, RunOptions, check_model, check_models
from tla_utils.output import ActionCount, State, TlcResult, Violation, parse_output
from tla_utils.runner import ModuleText, Simulate, TlcJob, command_line, run_tlc
from tla_utils.steps import (
    CheckOptions,
    Progress,
    StepFrame,
    StepReport,
    StepVerdict,
    check_steps,
)
from tla_utils.steptable import EncodedSteps, StepTable
from tla_utils.values import Function, ModelValue, Record, Value, function, parse, render

__all__ = [
    "ActionCount",
    "CheckOptions",
    "Diagnosis",
    "Difference",
    "EncodedSteps",
    "Function",
    "Jar",
    "Java",
    "Manifest",
    "Model",
    "ModelResult",
    "ModelValue",
    "ModuleText",
    "Progress",
    "Record",
    "RunOptions",
    "Simulate",
    "State",
    "StepFrame",
    "StepReport",
    "StepTable",
    "StepVerdict",
    "TlcJob",
    "TlcResult",
    "ToolError",
    "Value",
    "Violation",
    "check_model",
    "check_models",
    "check_steps",
    "command_line",
    "diagnose",
    "find_jar",
    "find_java",
    "function",
    "lint",
    "parse",
    "parse_output",
    "read_manifest",
    "render",
    "run_tlc",
]
