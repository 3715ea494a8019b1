"""`explore` in a real browser: Z28 is played to its violation by clicks.

Skipped where no Chromium is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from kraftcheck.explore.server import script_of, server
from kraftcheck.known_bugs.witnesses import SCHEDULES
from kraftcheck.reference.steered.scripts import read
from tests.explore.chromium import Tab
from tests.traces.report.browser import in_a_browser

pytestmark = in_a_browser

Z28 = read((SCHEDULES / "Z28.moves").read_text("utf-8"))[0]
MOVES = 27
"""The moves of the schedule up to its violation."""
MOVE = "[...document.querySelectorAll('[data-move]')].find(e => e.dataset.move === {!r})"
READY = "!document.body.classList.contains('busy') && document.querySelector('.node')"
COUNT = "document.getElementById('count').textContent"
SAID = "document.getElementById('said').textContent"


@pytest.fixture
def address() -> Iterator[str]:
    options = tuple(f"{name}={value}".lower() for name, value in Z28.options.items())
    serving = server(script_of("partition", "Z28", options), 0)
    thread = Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}/"
    serving.shutdown()
    serving.server_close()
    thread.join()


def test_a_bug_is_played_to_its_violation(address: str, tmp_path: Path) -> None:
    with Tab(tmp_path) as tab:
        tab.open(address)
        tab.wait(READY)
        for number, words in enumerate(Z28.moves[:MOVES], 1):
            move = MOVE.format(words)
            tab.wait(f"({READY}) && {move}")
            tab.ask(f"(() => {{ const d = {move}.closest('details'); if (d) d.open = true; }})()")
            tab.click(move)
            tab.wait(f"{COUNT} === 'move {number} of {number}'")
        broken = "document.getElementById('violated')"
        assert not tab.ask(f"{broken}.hidden")
        assert "LeaderCandidateCompleteness is violated" in tab.ask(f"{broken}.textContent")
        assert tab.ask("document.querySelectorAll('[data-move]').length") == 0

        tab.key("u")
        tab.wait(f"{COUNT} === 'move 26 of 27'")
        assert tab.ask(f"{broken}.hidden")
        tab.key("r")
        tab.wait(f"{COUNT} === 'move 27 of 27' && !{broken}.hidden")

        # The address alone restores the path.
        tab.wait("location.hash.length > 100")
        kept = tab.ask("location.href")
        tab.open("about:blank")
        tab.open(kept)
        tab.wait(f"{COUNT} === 'move 27 of 27' && !{broken}.hidden")

        # Another move from before begins a branch, and the old one is kept.
        tab.key("u")
        tab.wait(f"({READY}) && {COUNT} === 'move 26 of 27'")
        tab.click(MOVE.format("broker 1 SendHeartbeat"))
        tab.wait(f"{COUNT} === 'move 27 of 27' && {broken}.hidden")
        tab.click("document.querySelector('#branches button')")
        tab.wait(f"{COUNT} === 'move 27 of 27' && !{broken}.hidden")

        # Without the bug, the same moves go as far as they can.
        tab.ask(
            "(() => { const b = document.getElementById('bug'); b.value = '';"
            "b.dispatchEvent(new Event('change')); })()"
        )
        tab.wait(f"{SAID}.includes('is not possible here')")
        assert tab.ask(f"{broken}.hidden")
        assert tab.complaints == []


def test_a_schedule_that_does_not_fit_is_refused(address: str, tmp_path: Path) -> None:
    text = (SCHEDULES / "Z28.moves").read_text("utf-8")
    with Tab(tmp_path) as tab:
        tab.open(address)
        tab.wait(READY)
        for given, said in (
            (text.replace("broker 0 IsrShrinkTimeout", "broker 9 IsrShrinkTimeout"), "line 12: "),
            (text.replace("machine   partition", "machine   chess"), "no machine 'chess'"),
            ("good morning", "no bug 'good morning'"),
        ):
            tab.click("document.getElementById('open')")
            tab.ask(f"document.getElementById('text').value = {given!r}")
            tab.click("document.getElementById('take')")
            tab.wait(f"document.getElementById('refused').textContent.includes({said!r})")
            assert tab.ask(COUNT) == "no move yet"
            tab.ask("document.getElementById('opening').close()")
        tab.click("document.getElementById('open')")
        tab.ask(f"document.getElementById('text').value = {text!r}")
        tab.click("document.getElementById('take')")
        tab.wait(f"{COUNT} === 'move 27 of 27'")


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_and_obeys_keys(dark: bool, address: str, tmp_path: Path) -> None:
    with Tab(tmp_path, dark=dark) as tab:
        tab.open(address)
        tab.wait(READY)
        tab.key("l")
        tab.wait(f"({READY}) && {COUNT} !== 'no move yet'")
        assert "Leader" in tab.ask("document.getElementById('nodes').textContent")
        tab.key("W")
        tab.wait(f"({READY}) && {COUNT}.match(/\\d+/)[0] > 8")
        tab.key("e")
        tab.wait(f"{SAID}.length > 10")
        tab.key("ArrowDown")
        assert tab.ask("Boolean(document.activeElement.dataset.move)")
        tab.key("/")
        tab.ask(
            "(() => { const f = document.getElementById('filter'); f.value = 'crash';"
            "f.dispatchEvent(new Event('input')); })()"
        )
        assert tab.ask(
            "[...document.querySelectorAll('[data-move]')]"
            ".every(e => /crash/i.test(e.dataset.move))"
        )
        for width in (500, 1280, 1600):
            tab.size(width, dark)
            assert tab.ask("document.documentElement.scrollWidth - innerWidth") <= 0, width
        assert tab.complaints == []


def test_the_page_says_when_the_server_has_gone(address: str, tmp_path: Path) -> None:
    with Tab(tmp_path) as tab:
        tab.open(address)
        tab.wait(READY)
        tab.ask("window.fetch = () => Promise.reject(new Error('gone'))")
        tab.key("w")
        tab.wait(f"{SAID}.startsWith('The server does not answer')")
