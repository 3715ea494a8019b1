"""Runs every transcript of this folder and compares all that it prints.

`pytest tests/scenarios --rewrite` writes the expected output anew. A transcript is documentation:
whoever rewrites one should be able to say of every changed line why it changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.commands import Script
from tests.scenarios.partition_commands import PartitionScript
from tests.scenarios.scripting import Commands
from tests.scenarios.transcript import ScriptError, check, parse, render

FOLDER = Path(__file__).parent
TRANSCRIPTS = sorted(FOLDER.rglob("*.txt"))
# The folder says what a transcript drives.
SCRIPTS: dict[str, type[Commands]] = {FOLDER.name: Script, "partition": PartitionScript}

STORY = """\
# 1 asks for votes.
quorum voters=3
----
voters 1, 2, 3

time-out 1
----
1 ElectionTimeout
  role: Unattached => Prospective
  granted: {} => {1}
  connections: all Ready => 2=Awaiting 3=Awaiting
  sends 1 -> 2 VoteRequest epoch=0 last_epoch=0 last_offset=0 pre_vote=yes
  sends 1 -> 3 VoteRequest epoch=0 last_epoch=0 last_offset=0 pre_vote=yes

# And that was all.
"""


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path, pytestconfig: pytest.Config) -> None:
    rewrite = pytestconfig.getoption("rewrite", default=False)
    try:
        wrong = check(path, SCRIPTS[path.parent.name](path.name), rewrite)
    except ScriptError as mistake:
        wrong = str(mistake)
    if wrong:
        pytest.fail(wrong, pytrace=False)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_begins_with_its_story_and_shows_no_violation(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "VIOLATES" not in text or "bug=" in text or "elr=no" in text
    assert render(parse(path.name, text)) == text


# --- The tester, tested


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Checks a transcript with this text; with `rewrite`, returns what the file then holds."""
    path = tmp_path / "story.txt"

    def run(text: str, rewrite: bool = False) -> str:
        path.write_text(text, encoding="utf-8")
        wrong = check(path, Script(path.name), rewrite)
        return path.read_text(encoding="utf-8") if rewrite else wrong

    return run


def test_a_true_story_passes(run: Callable[..., str]) -> None:
    assert run(STORY) == ""


def test_a_wrong_expectation_fails_with_a_diff(run: Callable[..., str]) -> None:
    wrong = STORY.replace("=> Prospective", "=> Candidate")
    assert run(wrong).splitlines() == [
        "story.txt:6: time-out 1  (- expected, + observed)",
        "      1 ElectionTimeout",
        "    -   role: Unattached => Candidate",
        "    +   role: Unattached => Prospective",
        *(f"    {line}" for line in ["  " + line for line in STORY.splitlines()[9:13]]),
    ]


@pytest.mark.parametrize("line", STORY.splitlines()[8:13])
def test_a_missing_line_fails(run: Callable[..., str], line: str) -> None:
    assert f"    + {line}" in run(STORY.replace(line + "\n", "")).splitlines()


def test_a_line_too_many_fails(run: Callable[..., str]) -> None:
    assert "-   role: Down" in run(STORY.replace("  granted", "  role: Down\n  granted"))


def test_a_rewrite_mends_output_and_leaves_comments(run: Callable[..., str]) -> None:
    assert run(STORY.replace("=> Prospective", "=> Candidate"), rewrite=True) == STORY
    bare = "\n".join(
        line for line in STORY.splitlines() if not line.startswith(("voters", "1 El", "  "))
    )
    assert run(bare + "\n", rewrite=True) == STORY


def test_a_violation_is_printed(run: Callable[..., str]) -> None:
    """The rules of Z16 announce a leader too early; the transcript says so itself."""
    story = "# A bug.\nquorum bug=Z16\n----\n\nelect 1 2\n----\n"
    assert "  VIOLATES " in run(story, rewrite=True)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("tme-out 1", "unknown command 'tme-out'; did you mean 'time-out'?"),
        ("time-out", "'time-out' takes 1 arguments: time-out NODE"),
        ("time-out 1 2", "'time-out' takes 1 arguments: time-out NODE"),
        ("time-out one", "node is a number, not 'one'"),
        ("time-out 4", "node 4 is no voter; the voters are 1, 2, 3"),
        ("crash 1 kep=2", "'crash' has no option 'kep': crash NODE [keep=...]"),
        ("append 1 7", "a value is written v1, v2 and so on, not '7'"),
        ("quorum voters=0", "a quorum has at least one voter, and a fetch one record"),
        ("quorum bug=Z99", "unknown bug 'Z99'"),
        ("fetch-wait 1 2", "node 1 has parked no fetch of 2"),
        ("deliver vote 1 2", "there is no vote from 1 to 2 to deliver"),
        (
            "deliver veto 1 2",
            "unknown message 'veto'; there are: vote, vote-answer, begin, begin-answer, end, "
            "end-answer, fetch, fetch-answer",
        ),
    ],
)
def test_a_command_that_means_nothing_is_one_line(
    run: Callable[..., str], command: str, message: str
) -> None:
    with pytest.raises(ScriptError) as caught:
        run(f"# A mistake.\n\n{command}\n----\n")
    assert str(caught.value) == f"story.txt:3: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("----\n", "story.txt:1: ---- without a command above it"),
        ("rows\nrow 2\n", "story.txt:2: expected ---- below the command 'rows'"),
    ],
)
def test_a_form_that_is_none_is_one_line(run: Callable[..., str], text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        run(text)
    assert str(caught.value) == message


# --- Partitions


def test_a_bug_of_a_partition_is_seen() -> None:
    """Z23 cuts to the high watermark: a record that was committed is gone."""
    script = PartitionScript("story.txt")
    told: list[str] = []
    for command in ("partition replicas=3 bug=Z23", "produce 1", *("fetch 2", "fetch 3") * 2):
        told += script(command, 1)
    assert not [line for line in told if "VIOLATES" in line]
    script("fence 1", 1)
    assert [line for line in script("tell 3", 1) if "VIOLATES" in line]


def test_what_a_partition_cannot_do_is_told() -> None:
    script = PartitionScript("story.txt")
    assert script("tell 1", 1) == ["nothing happens"]
    assert script("propose 1", 1) == ["1 SendAlterPartition", "  disabled"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fetch 4", "node 4 is no broker; the brokers are 1, 2, 3"),
        ("partition min-isr=4", "a partition has a replica, and min ISR is from 1 to their number"),
        ("partition bug=Z40", "unknown bug 'Z40'"),
        ("produce 1 acks=2", "acks is all, 1 or 0, not '2'"),
        (
            "deliver vote 1 2",
            "unknown message 'vote'; there are: fetch, fetch-answer, alter, alter-answer",
        ),
    ],
)
def test_a_command_for_no_partition_is_one_line(command: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        PartitionScript("story.txt")(command, 3)
    assert str(caught.value) == f"story.txt:3: {message}"
