"""What is shown where: results on stdout, progress on stderr, JSON alone with --json."""

from __future__ import annotations

import json
from time import monotonic, sleep

import pytest

from kraftcheck import screen as module
from kraftcheck.screen import Columns, Screen, hanging


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


def test_progress_without_a_terminal_is_plain_and_rare(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Screen().progress("working", 3) as meter:
        meter.update(1)
        meter.update(2)
        monkeypatch.setattr(module, "SILENCE_S", 0.0)
        meter.update(3, "nearly")
    out, said = capsys.readouterr()
    lines = said.splitlines()
    assert out == "" and len(lines) == 2
    assert lines[0].startswith("working: 3 of 3, ") and lines[0].endswith(" s, nearly")


def test_work_that_says_nothing_is_not_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE_S", 0.05)
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    with Screen().progress("recording", 3) as meter:
        meter.update(0, "asking")
        sleep(0.3)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("recording: 0 of 3, ") and first.endswith(" s, asking")
    assert not last.endswith("asking")


def test_a_verb_that_says_nothing_is_told_to_be_at_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE_S", 0.1)
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    screen = Screen()
    with screen.at_work("spec check"):
        sleep(0.3)
        assert capsys.readouterr().err.startswith("spec check: at work, 0.")
        screen.doing("a node is waited for")
        sleep(0.3)
        assert capsys.readouterr().err.endswith(" s, a node is waited for\n")
        with screen.without_results().progress("models", 1):
            sleep(0.3)
        told = capsys.readouterr().err
        assert "models: 0 of 1" in told and "at work" not in told
        with screen.waiting():
            sleep(0.3)
        assert capsys.readouterr().err == ""
        sleep(0.3)
    assert "at work" in capsys.readouterr().err
    with Screen(quiet=True).at_work("spec check"):
        sleep(0.3)
    assert capsys.readouterr().err == ""


def test_what_was_waited_for_before_a_verb_began_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process imports for a while before it comes to its verb."""
    monkeypatch.setattr(module, "SILENCE_S", 30.0)
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    with Screen().at_work("try", waited_s=31.0):
        sleep(0.3)
    assert capsys.readouterr().err.startswith("try: at work, 31.")
    with Screen().at_work("try", waited_s=1.0):
        sleep(0.3)
    assert capsys.readouterr().err == ""


def test_what_is_said_now_and_then_is_sign_of_life_enough(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    screen = Screen()
    with screen.at_work("check"):
        monkeypatch.setattr(module, "monotonic", lambda: monotonic() + module.SILENCE_S)
        screen.line("holds")
        sleep(0.1)
        assert capsys.readouterr() == ("holds\n", "")


def test_progress_goes_on_from_what_was_said_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second of imports and then a second of work are two seconds."""
    monkeypatch.setattr(module, "SILENCE_S", 0.4)
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    screen = Screen()
    with screen.at_work("conform"):
        sleep(0.3)
        with screen.progress("reading parts", 3):
            sleep(0.3)
            assert capsys.readouterr().err.startswith("reading parts: 0 of 3, 0.")


def test_a_terminal_shows_that_a_verb_is_at_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "SILENCE_S", 0.1)
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    screen = Screen()
    with screen.at_work("report"):
        sleep(0.5)
        # On a busy machine the next half of a tenth may last long.
        monkeypatch.setattr(module, "SILENCE_S", 30.0)
        screen.line("report.html")
        assert "report: at work" in capsys.readouterr().err
        sleep(0.05)
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
