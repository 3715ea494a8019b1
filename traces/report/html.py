"""What every page is made with: templates, the texts that stand in them as they are, one file.

Law of this file: whatever a template is given is escaped, and shown without control characters and
marks that turn the direction of the text; but for `Markup`, which is ours.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from kraftcheck.osutil.files import replace_file
from kraftcheck.traces.report.evidence import ReportError
from kraftcheck.traces.report.history_words import cut, ends, printable

NONE: Final = "–"  # noqa: RUF001
"""In place of a number."""


def render(template: str, filters: dict[str, Callable[..., str]] | None = None, **said: Any) -> str:
    """A template filled in. Raises jinja2.TemplateError: it asks for what is not there."""
    # Late, because verbs that draw on demand need not wait for it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kraftcheck.traces.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters |= {"count": count, "cut": cut, "ends": ends, **(filters or {})}
    return environment.get_template(template).render(**said)


def asset(name: str) -> str:
    """A style sheet or a script: the same on every page."""
    return resources.files("kraftcheck.traces.report.templates").joinpath(name).read_text("utf-8")


def scripted(script: str) -> dict[str, Any]:
    """What a template needs to run a script of ours, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return {"script": Markup(script), "script_hash": base64.b64encode(digest).decode()}


def count(number: float | None) -> str:
    """12345 as 12,345; nothing as a dash."""
    return NONE if number is None else f"{number:,}"


def write_page(path: Path, text: str) -> Path:
    """Whole, or not at all. Raises ReportError: the file cannot be written."""
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise ReportError(f"{error.filename or path}: {error.strerror}") from None
    return path
