"""The state graph as a page. TLC dumps small graphs here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.explore.played import Paths
from kraftcheck.reference.steered.scripts import read
from tests.explore.chromium import Tab
from tests.traces.report.browser import in_a_browser


def explored(name: str, page: Path) -> Result:
    return CliRunner().invoke(cli, ["spec", "explore", name, "--html", str(page), "--quiet"])


@pytest.mark.parametrize(
    ("name", "said"),
    [("chess", "no graph 'chess'; of up to 2,000 states: "), ("quorum-votes", "22,349 states")],
)
def test_what_cannot_be_drawn_is_one_line(name: str, said: str, tmp_path: Path) -> None:
    done = explored(name, tmp_path / "page.html")
    assert done.exit_code == 3 and said in done.output and len(done.output.splitlines()) == 1


@pytest.mark.parametrize("mark", [pytest.param("", marks=in_a_browser)])
def test_a_state_is_found_and_its_path_is_a_schedule(mark: str, tmp_path: Path) -> None:
    page = tmp_path / "voters-join.html"
    done = explored("voters-join", page)
    assert done.exit_code == 0 and "112 states, 712 edges; paths are schedules" in done.output
    data = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.S)
    assert data is not None and len(json.loads(data[1])["states"]) == 112
    with Tab(tmp_path) as tab:
        tab.open(page.as_uri())
        for condition, said in (
            ("speed=3", "no node has a field speed"),
            ("leader", "is no condition"),
            ("9 epoch=1", "there is no node 9"),
            ("epoch=77", "No state satisfies the condition."),
            ("2 epoch>=1 and 1 role=Leader", "of 112 states; the nearest takes"),
        ):
            tab.wait("document.querySelector('#found table')")
            tab.ask(f"document.getElementById('condition').value = {condition!r}")
            tab.ask("document.getElementById('form').requestSubmit()")
            assert said in tab.ask("document.getElementById('said').textContent"), condition
        # The path that the page shows is made by the reference, move by move.
        head = json.loads(data[1])["head"]
        path = tab.ask("[...document.querySelectorAll('#found li')].map(e => e.textContent)")
        script, _ = read(head + "\n".join(path) + "\n")
        played, why = Paths().played(script)
        roles = played.roles()
        assert why == "" and roles["quorum-controller 1"] == "Leader" and len(path) >= 2
        assert tab.complaints == []
