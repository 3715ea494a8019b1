"""A verification kit for Kafka-style replicated logs in KRaft mode.

    >>> import kraftcheck
    >>> report = kraftcheck.check("traces/samples/histories/kv.jsonl")
    >>> report.verdict
    'violated'

The functions are in api/. The command line (cli.py) calls them; its verbs are in verbs/, by groups.
What it exits with is in exits.py, what it shows in screen.py, and where it writes in artifacts.py.
The modules beside these do the work of one verb each. They know no protocol: they call the packages
below and say in words what those return. known_bugs/ has the known bugs at work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kraftcheck.api import (
        Anomaly as Anomaly,
        BadInput as BadInput,
        Report as Report,
        Verdict as Verdict,
        campaign as campaign,
        check as check,
        conform as conform,
        disk as disk,
        model as model,
        simulate as simulate,
        tables as tables,
    )

__all__ = [
    "Anomaly",
    "BadInput",
    "Report",
    "Verdict",
    "campaign",
    "check",
    "conform",
    "disk",
    "model",
    "simulate",
    "tables",
]


if not TYPE_CHECKING:  # Which would take any name for one that is there.

    def __getattr__(name: str) -> Any:
        # Late: every module of the kit imports this one, and few need the functions.
        if name not in __all__:
            raise AttributeError(f"module 'kraftcheck' has no attribute {name!r}")
        from kraftcheck import api
        from kraftcheck.traces.lean import welcome_pandas

        welcome_pandas()
        return getattr(api, name)

    def __dir__() -> list[str]:
        return [*globals(), *__all__]
