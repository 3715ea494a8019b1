"""The state graph as a page. TLC dumps small graphs here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.explore.played import Paths, Played
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
def test_a_state_is_found(mark: str, tmp_path: Path) -> None:
    page = tmp_path / "voters-join.html"
    done = explored("voters-join", page)
    assert done.exit_code == 0 and "112 states, 712 edges" in done.output
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
        said = tab.ask("document.querySelector('#found code').textContent")
        assert tab.complaints == []
    # The command that the page shows writes the path as a schedule.
    assert said.startswith("kraftcheck spec explore voters-join --state ")
    roles = scheduled("voters-join", int(said.split()[5]), tmp_path).roles()
    assert roles["quorum-controller 1"] == "Leader"


def scheduled(name: str, state: int, folder: Path) -> Played:
    """The run of the schedule that comes to a state."""
    path = folder / "path.moves"
    words = ["spec", "explore", name, "--state", str(state), "--out", str(path), "--quiet"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    played, why = Paths().played(read(path.read_text("utf-8"))[0])
    assert why == ""
    return played


def test_a_graph_that_begins_with_a_leader_has_schedules_too(tmp_path: Path) -> None:
    """The graph fuses what elects the leader; the schedule makes it."""
    roles = scheduled("partition-isr", 33, tmp_path).roles()
    assert roles["broker 0"] == "Leader"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--state", "999", "--out", "x.moves"), "there is no state 999; they are 0 to 293"),
        (("--state", "9"), "--state and --out go together"),
    ],
)
def test_a_state_that_has_no_schedule_is_one_line(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(cli, ["spec", "explore", "partition-isr", *words, "--quiet"])
    assert done.exit_code == 3 and said in done.output and not Path("x.moves").exists()
