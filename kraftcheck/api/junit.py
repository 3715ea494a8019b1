"""JUnit XML: what Jenkins, GitLab and the plugins of GitHub read.

`violated` is a failure, `unknown` is skipped, and bad input is an error. An unknown case is never a
pass, and the exit code tells it as well.

Source: the schema of Jenkins' xUnit plugin (junit-10.xsd) and that of Maven Surefire: this writes
the elements and attributes that both have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as xml

from kraftcheck.api.cases import Case, counts

TAGS: Final = {"violated": "failure", "unknown": "skipped", "bad input": "error"}
"""The element inside a test case, by verdict."""
VERDICT_OF_COUNT: Final = {"failures": "violated", "errors": "bad input", "skipped": "unknown"}
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have, not even escaped."""
MESSAGE_MAX: Final = 500
OUTPUT_MAX: Final = 20_000


def document(verb: str, found: Sequence[Case], lines: Sequence[str] = ()) -> bytes:
    """The file: one suite of the verb with these cases.

    Args:
        lines: what the verb printed.
    """
    number = counts(found)
    seconds = f"{sum(case.seconds for case in found):.3f}"
    totals = {"tests": str(len(found)), "time": seconds}
    totals |= {name: str(number[verdict]) for name, verdict in VERDICT_OF_COUNT.items()}
    suite = xml.Element("testsuite", {"name": f"kraftcheck {verb}", **totals})
    for case in found:
        suite.append(_element(verb, case))
    if lines:
        xml.SubElement(suite, "system-out").text = _allowed("\n".join(lines)[:OUTPUT_MAX])
    del totals["skipped"]  # The schema of Jenkins has it at a suite alone.
    suites = xml.Element("testsuites", {"name": "kraftcheck", **totals})
    suites.append(suite)
    xml.indent(suites)
    text: bytes = xml.tostring(suites, "utf-8", xml_declaration=True)
    return text + b"\n"


def _element(verb: str, case: Case) -> xml.Element:
    owner = f"kraftcheck.{verb.replace(' ', '.')}"
    told = {"name": _allowed(case.name), "classname": owner, "time": f"{case.seconds:.3f}"}
    element = xml.Element("testcase", told)
    if tag := TAGS.get(case.verdict):
        message = _allowed(case.evidence[0] if case.evidence else case.verdict)[:MESSAGE_MAX]
        inner = xml.SubElement(element, tag, {"message": message})
        if tag != "skipped":
            inner.set("type", case.verdict)
        inner.text = _allowed("\n".join(case.evidence))[:OUTPUT_MAX]
    return element


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
