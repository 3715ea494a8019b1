"""What is shown where: results on stdout, progress on stderr, JSON alone with --json."""

from __future__ import annotations

import json
from threading import Event, Semaphore

import pytest

from kraftcheck import screen as module
from kraftcheck.screen import SILENCE_S, Columns, Screen, hanging


def test_columns_are_aligned() -> None:
    rows = [["a", 5, 1.25, "first"], ["longer", 123456, None, ""]]
    columns = Columns(("name", ">count", ">s", "what"), rows)
    assert [columns.head, *map(columns.row, rows)] == [
        "name     count    s  what",
        "a            5  1.2  first",
        "longer  123456    -  -",
    ]


def test_a_wider_cell_than_was_known_is_not_cut() -> None:
    assert Columns(("a", "b"), [["x", "y"]]).row(["wider", "z"]) == "wider  z"


def test_facts_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().facts([("verdict", "violated"), ("", "why"), ("runs", "3")])
    assert capsys.readouterr().out == "verdict  violated\n         why\nruns     3\n"


def test_json_is_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(json=True)
    screen.line("for people")
    screen.facts([("for", "people")])
    screen.document({"for": "programs"})
    assert json.loads(capsys.readouterr().out) == {"for": "programs"}
    Screen().document({"for": "programs"})
    assert capsys.readouterr().out == ""


class Clock:
    """Time passes when a test says so, and whoever looks now and then looks at it before that ends:
    what is said depends on no other clock, and on no load.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self._watches: list[Watch] = []

    def watch(self) -> Watch:
        self._watches.append(Watch())
        return self._watches[-1]

    def passes(self, seconds: float) -> None:
        self.now += seconds
        for each in self._watches:
            each.look()


class Watch(Event):
    """In the place of what a thread waits for between two looks."""

    def __init__(self) -> None:
        super().__init__()
        self._waits, self._looks = Semaphore(0), Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self._waits.release()
        self._looks.acquire()
        return self.is_set()

    def set(self) -> None:
        super().set()
        self._looks.release()

    def look(self) -> None:
        """Returns when the thread has looked, and waits again."""
        if not self.is_set():
            self._waits.acquire()
            self._looks.release()
            self._waits.acquire()
            self._waits.release()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "monotonic", lambda: found.now)
    monkeypatch.setattr(module, "Event", found.watch)
    # Other tests are not told that they wait (conftest.py).
    monkeypatch.setattr(module, "SILENCE_S", SILENCE_S)
    return found


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def test_progress_without_a_terminal_is_plain_and_rare(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    with Screen().progress("working", 3) as meter:
        meter.update(1)
        clock.passes(1.0)
        assert not said(capsys)
        clock.passes(0.5)
        assert said(capsys) == ["working: 1 of 3, 1.5 s"]
        clock.passes(8.5)
        assert said(capsys) == ["working: 1 of 3, 10.0 s"]
        clock.passes(2.0)
        assert not said(capsys), "a quarter of the time so far"
        clock.now += 0.5
        meter.update(3, "nearly")
        assert said(capsys) == ["working: 3 of 3, 12.5 s, nearly"]
    assert said(capsys) == ["working: 3 of 3, 12.5 s"]


def test_work_that_says_nothing_is_not_silent(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    with Screen().progress("recording", 3) as meter:
        meter.update(0, "asking")
        clock.passes(SILENCE_S)
    assert said(capsys) == ["recording: 0 of 3, 1.5 s, asking", "recording: 0 of 3, 1.5 s"]


def test_a_verb_that_says_nothing_is_told_to_be_at_work(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    screen = Screen()
    with screen.at_work("spec check"):
        clock.passes(SILENCE_S)
        assert said(capsys) == ["spec check: at work, 1.5 s"]
        screen.doing("a node is waited for")
        clock.passes(SILENCE_S)
        assert said(capsys) == ["spec check: at work, 3.0 s, a node is waited for"]
        with screen.without_results().progress("models", 1):
            clock.passes(SILENCE_S)
        assert {line[:14] for line in said(capsys)} == {"models: 0 of 1"}
        with screen.waiting():
            clock.passes(20 * SILENCE_S)
        assert not said(capsys)
        clock.passes(SILENCE_S)
    assert said(capsys) == ["spec check: at work, 36.0 s, a node is waited for"]
    with Screen(quiet=True).at_work("spec check"):
        clock.passes(SILENCE_S)
    assert not said(capsys)


def test_what_was_waited_for_before_a_verb_began_counts(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    """A process imports for a while before it comes to its verb."""
    with Screen().at_work("try", waited_s=1.2):
        clock.passes(0.2)
        assert not said(capsys)
        clock.passes(0.2)
    assert said(capsys) == ["try: at work, 1.6 s"]


def test_what_is_said_now_and_then_is_sign_of_life_enough(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    screen = Screen()
    with screen.at_work("check"):
        clock.passes(1.0)
        screen.line("holds")
        clock.passes(1.0)
        assert capsys.readouterr() == ("holds\n", "")


def test_progress_goes_on_from_what_was_said_before(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    """A second of imports and then a second of work are two seconds."""
    screen = Screen()
    with screen.at_work("conform"):
        clock.passes(1.0)
        with screen.progress("reading parts", 3):
            clock.passes(1.0)
            assert said(capsys) == ["reading parts: 0 of 3, 1.0 s"]


def test_a_terminal_shows_that_a_verb_is_at_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    with screen.at_work("report"):
        clock.passes(SILENCE_S)
        screen.line("report.html")
        assert "report: at work" in capsys.readouterr().err
        clock.passes(1.0)
        assert capsys.readouterr() == ("", "")


def test_quiet_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(quiet=True).progress("working", 3) as meter:
        meter.update(3)
    Screen(quiet=True).note("by the way")
    assert capsys.readouterr() == ("", "")
    Screen().note("by the way")
    assert capsys.readouterr() == ("", "by the way\n")


def test_a_note_goes_on_below_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    Screen().note("passed over: " + "pages/history.html, " * 9)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 60


def test_a_terminal_gets_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with Screen().progress("working", 3) as meter:
        meter.update(2, "so far")
    out, said = capsys.readouterr()
    assert out == "" and "working" in said and "2/3" in said and "so far" in said


@pytest.mark.parametrize("room", [60, 34, 24])
def test_a_table_fits_a_narrow_terminal(room: int) -> None:
    rows = [["Z01", "safety", "VoteOnce", "the vote lives in memory only, which a restart forgets"]]
    columns = Columns(["bug", "class", "property", "title"], rows, room=room)
    lines = [line for row in (columns.head, columns.row(rows[0])) for line in row.split("\n")]
    assert max(map(len, lines)) <= room
    told = " ".join(" ".join(lines).split())
    for word in ("Z01", "safety", "VoteOnce", "memory", "forgets"):
        assert word in told


def test_without_a_terminal_a_row_is_a_line() -> None:
    assert "\n" not in Columns(["a", "b"], [["x" * 80, "y" * 80]]).row(["x" * 80, "y" * 80])


STEP = f"   12   1.000000  0 U>P      0   -    - 0     -  Timeout  => {'VoteRequest 0>1; ' * 6}"


@pytest.mark.parametrize("room", [60, 34])
@pytest.mark.parametrize("text", [STEP, f"log     {'end offset and epoch ' * 9}", "a word " * 30])
def test_a_long_line_goes_on_below_further_in(text: str, room: int) -> None:
    first, *rest = hanging(text, room).split("\n")
    assert rest and max(map(len, [first, *rest])) <= room
    inside = {len(line) - len(line.lstrip()) for line in rest}
    assert len(inside) == 1 and inside.pop() > len(first) - len(first.lstrip())
    assert " ".join([first, *rest]).split() == text.split()


def test_a_command_is_never_broken() -> None:
    told = f"try it    kraftcheck replay {'x' * 80}"
    assert hanging(told, 60) == told and hanging(told, None) == told
