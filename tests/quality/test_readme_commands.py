"""Every command that the README shows works, as it is typed there, in the repository's root."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.quality import readme
from tests.quality.readme import Command, Witness

ROOT = Path(__file__).resolve().parent.parent.parent
README = ROOT / "README.md"

# Commands of the README that are not run from here, with who runs them instead.
ELSEWHERE = {
    # Minutes long: the same verb with fewer runs is tested.
    ".venv/bin/kraftcheck campaign run --scenario partition --runs 2000 --seed 7"
    " --out runs/campaign": Witness("tests/kraftcheck/test_campaigns.py", 'run("run"'),
    ".venv/bin/kraftcheck campaign extend runs/campaign --runs 1000": Witness(
        "tests/kraftcheck/test_campaigns.py", 'run("extend"'
    ),
    "make verify": Witness("tests/kraftcheck/test_verify.py", '"verify"'),
}

PAGE = readme.parse(README.read_text("utf-8"))


def test_the_readme_has_commands_and_hides_none() -> None:
    assert PAGE.complaints == []
    assert PAGE.sessions, "README.md shows no command"


def test_each_command_is_run_by_somebody() -> None:
    assert readme.unknown(PAGE, ELSEWHERE) == []


@pytest.mark.parametrize("command", ELSEWHERE)
def test_who_runs_a_command_elsewhere_does(command: str) -> None:
    witness = ELSEWHERE[command]
    assert witness.text in (ROOT / witness.path).read_text("utf-8")


def _words(command: Command) -> list[str]:
    return command.text.split()


# One process under xdist: a session may use what an earlier one wrote.
@pytest.mark.acceptance
@pytest.mark.xdist_group("readme")
@pytest.mark.parametrize("session", PAGE.sessions, ids=lambda session: f"line-{session[0].line}")
def test_the_commands_work(session: list[Command]) -> None:
    # What an older checkout recorded there would be refused, and rightly so.
    for folder in (ROOT / "runs").glob("readme*"):
        written = f"runs/{folder.name}"
        if any("--out" in words and written in words for words in map(_words, session)):
            shutil.rmtree(folder)
    failure = readme.run(session, ELSEWHERE, ROOT)
    assert failure is None, f"README.md:{failure}"


# -- Plants: the extractor sees what it must see, and the runner fails when a command does

SAMPLE = """\
# Title

```console
$ make verify OUT=here
report: here/report.html
$ SEED=1 make spec \\
    ARGS=-q
```

```python
$ no command
```

   ```sh
   $ curl somewhere
   ```
"""


def test_commands_are_extracted_with_their_lines() -> None:
    assert readme.parse(SAMPLE) == readme.Page(
        [
            [Command(4, "make verify OUT=here"), Command(6, "SEED=1 make spec \\\nARGS=-q")],
            [Command(15, "curl somewhere")],
        ],
        [],
    )


def test_a_command_that_nobody_runs_is_reported() -> None:
    page = readme.parse(SAMPLE)
    assert readme.unknown(page, ()) == ["15: nobody runs `curl somewhere`"]
    assert readme.unknown(page, ("curl somewhere",)) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```bash\n$ make\n```", "1: fence is marked bash, commands go into console"),
        ("\n```sh\nmake\n```", "2: sh fence has no line that starts with '$ '"),
        ("```console\n$ make", "1: fence is never closed"),
    ],
)
def test_a_fence_that_hides_commands_is_reported(text: str, complaint: str) -> None:
    assert readme.parse(text).complaints == [complaint]


def test_a_page_without_commands_has_no_sessions() -> None:
    assert readme.parse("# Title\n\n```python\nx = 1\n```\n").sessions == []


def test_a_failing_command_is_reported_with_its_line(tmp_path: Path) -> None:
    session = [Command(7, "cd ."), Command(8, "echo why >&2; false"), Command(9, "true")]
    failure = readme.run(session, (), tmp_path)
    assert failure is not None
    assert failure.startswith("8: `echo why >&2; false` ends with exit code 1\nwhy")


def test_a_failure_inside_a_pipe_is_reported(tmp_path: Path) -> None:
    assert readme.run([Command(3, "false | cat")], (), tmp_path) is not None


def test_a_session_keeps_its_folder_and_skips_what_others_run(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    session = [Command(1, "cd inner"), Command(2, "false"), Command(3, "touch here")]
    assert readme.run(session, ("false",), tmp_path) is None
    assert (tmp_path / "inner" / "here").exists()


def test_a_command_reads_nothing_from_the_terminal(tmp_path: Path) -> None:
    assert readme.run([Command(1, "! read -r line")], (), tmp_path) is None
