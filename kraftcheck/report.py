"""`report`: one page about a judged folder."""

from __future__ import annotations

from pathlib import Path

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.osutil.commands import command
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.plan import PLAN


def report(folder: Path, screen: Screen) -> int:
    """Make the page and print its path: a page judges nothing, so the exit code is 0."""
    path, verdict = make(folder)
    screen.line(str(path))
    screen.document({"report": str(path), "verdict": verdict})
    return exits.HOLDS


def refuse_campaign(folder: Path) -> None:
    """Raises BadInput: it is a campaign, which is judged, and has its page, when it ends."""
    if not (folder / PLAN).is_file():
        return
    page = folder / "report.html"
    if not page.is_file():
        raise BadInput(f"{folder} is a campaign that has not ended: what began it goes on with it")
    raise BadInput(f"{folder} is a campaign, judged as it ran: its page is {page}")


def make(folder: Path) -> tuple[Path, str]:
    """Make the page of a folder; its path, and the verdict that it states.

    Raises BadInput: it was not judged, has a page already, or is none.
    """
    if folder.is_file():
        page = folder.with_suffix(".html")
        to_do = command("conform", folder, "--html", page)
        raise BadInput(f"{folder} is a file: a page of another implementation's steps: `{to_do}`")
    refuse_campaign(folder)
    summary = artifacts.read_json(folder / artifacts.SUMMARY)
    if "conform" not in summary.get("parts", {}):
        raise BadInput(f"{folder} was not judged yet: run `{command('conform', folder)}` first")
    # Late: drawing figures loads half a second of libraries.
    from kraftcheck.traces.report.page import write_report

    return write_report(folder), str(summary["verdict"])
