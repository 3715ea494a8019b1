"""Style is a test: the repository is tidy, and each check is shown to fire on a planted violation.

A complaint reads `file:line: what`, so that an editor can jump to it.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.quality import tidy

# Put together from halves: this file is checked as well.
MARKER = "TO" + "DO"
WIDE = "x = " + "1" * 97
LONG = "def f():\n" + "    g()\n" * 70
HOME = "/ho" + "me/somebody/data"
ADDRESS = "https" + "://index.example/simple"

# check, path, violating text, line of the complaint, the nearest text that is in order
PLANTS = [
    (tidy.check_line_length, "reference/kit/log.py", f"\n{WIDE}\n", 2, WIDE[:-1]),
    (tidy.check_line_length, "specs/Log.tla", "\\* " + "a" * 98, 1, "\\* " + "a" * 97),
    (tidy.check_line_length, "README.md", "w" * 101, 1, "| " + "w" * 101 + " |"),
    (tidy.check_function_length, "traces/schema.py", LONG, 1, "def f():\n" + "    g()\n" * 69),
    (tidy.check_function_length, "a.py", f"\nasync {LONG}", 2, "x = 1\n" * 99),
    (tidy.check_markers, "specs/Log.tla", f"\n\\* {MARKER}: later", 2, f"\\* {MARKER}S"),
    (tidy.check_markers, "docs/limits.md", "FIX" + "ME", 1, "fix me"),
    (tidy.check_markers, "Makefile", "# " + "X" + "XX", 1, "# mktemp " + "X" * 6),
    (tidy.check_plain_english, "README.md", "\nIt is told so.", 2, "```\nIt is told so.\n```"),
    (tidy.check_plain_english, "README.md", "Judged are runs.", 1, "`x behind y` is a name."),
    (tidy.check_plain_english, "README.md", "It goes on.", 1, "It goes on. <!-- as meant -->"),
    (tidy.check_plain_english, "finds/Z1/README.md", "It leads on.", 1, "    It leads on."),
    (tidy.check_plain_english, "finds/README.md", "It was heard.", 1, "It heard from no voter."),
    (tidy.check_plain_english, "reference/quorum/a.py", "1  # Who asks\n", 1, "who_asks = 1\n"),
    (tidy.check_plain_english, "reference/quorum/a.py", '\n"""Held up."""\n', 2, "x = 'be it'\n"),
    (tidy.check_plain_english, "docs/a.md", "All but for one.", 1, "`but for` `let in`"),
    (tidy.check_plain_english, "docs/a.md", "Taken for it.", 1, "```\nlooked at\n```"),
    (tidy.check_plain_english, "docs/a.md", "Nothing comes of it.", 1, "It takes it."),
    (tidy.check_plain_english, "specs/quorum/A.tla", "(* It is told. *)", 1, "Whoever == 1"),
    (tidy.check_print, "reference/kit/log.py", "def f():\n    print(1)\n", 2, "'print(1)'\n"),
    (tidy.check_print, "tests/test_a.py", "print(1)\n", 1, "console.print(1)\n"),
    (tidy.check_machine_paths, "a.json", f'"{HOME}"', 1, f'"~{HOME}"'),
    (tidy.check_machine_paths, "a.sh", "cd /ro" + "ot", 1, "cd $top/ro" + "ot-of-all"),
    (tidy.check_machine_paths, "a.cfg", "\n/wo" + "rk/x", 2, "/wo" + "rkers/x ./wo" + "rk"),
    (tidy.check_addresses, "requirements/lock.txt", f"a==1\n# {ADDRESS}", 2, "a==1"),
    (tidy.check_addresses, "uv.lock", ADDRESS, 1, "a==1"),
    (tidy.check_addresses, "pyproject.toml", f'index = "{ADDRESS}"', 1, f'Homepage = "{ADDRESS}"'),
    (tidy.check_last_newline, "docs/a.md", "one\ntwo", 2, "one\ntwo\n"),
    (tidy.check_line_ends, "docs/a.md", "one\ntwo\r\n", 2, "one\ntwo\n"),
    (tidy.check_benchmark, "benchmarks/a.py", "def main(): ...\n", 1, '"A."\ndef main(): ...\n'),
    (tidy.check_benchmark, "benchmarks/a.py", '"A."\n', 1, '"A."\ndef main(): ...\n'),
]


def test_the_repository_is_tidy(repo_root: Path) -> None:
    found = tidy.findings(repo_root)
    assert not found, "\n" + "\n".join(found)


def test_the_files_are_found(repo_root: Path) -> None:
    """The test above would hold of an empty list as well."""
    assert {"Makefile", "pyproject.toml", "tests/conftest.py"} <= set(tidy.tracked_files(repo_root))


def test_every_dependency_is_locked(repo_root: Path) -> None:
    pyproject = tomllib.loads((repo_root / "pyproject.toml").read_text("utf-8"))
    locks = (repo_root / "requirements" / "lock.txt").read_text("utf-8")
    assert tidy.unlocked(pyproject, locks) == [], "run `make lock`"


def test_an_unlocked_dependency_is_reported() -> None:
    project = {"dependencies": ["a_b>=1,<2", "c"], "optional-dependencies": {"dev": ["d[x]>=1"]}}
    assert tidy.unlocked({"project": project}, "a-b==1.0 \\\n    --hash=x\nd==1\n") == ["c"]


@pytest.mark.parametrize(("check", "path", "bad", "line", "good"), PLANTS)
def test_a_planted_violation_is_reported(
    check: tidy.Check, path: str, bad: str, line: int, good: str
) -> None:
    assert [finding.line for finding in check(path, bad)] == [line]
    assert list(check(path, good)) == []


KNOWN = tidy.known_of(("docs/log.md", "specs/bugs/Z01.tla", "README.md"))
# path, text that names what is not there, line of the complaint, the nearest text that is in order
NAMED = [
    ("a.py", '"""Law.\n\nSee docs/logs.md.\n"""\n', 3, '"""See docs/log.md."""\n'),
    ("a.py", "x = 1  # (specs/bugs/Z02.tla)\n", 1, "x = 1  # specs/bugs, other/specs/x\n"),
    ("a.py", 'X = 1\n"""Of specs/bug."""\n', 2, 'X = "specs/bug"\n'),
    ("a.tla", "(* specs/bugs/Z1*.tla *)", 1, "(* specs/bugs/Z0*.tla in specs/bugs*)"),
    ("Makefile", "a: ## docs/none.md\n", 1, "a: ## docs/log.md, docs/\n"),
    ("docs/log.md", "\n[read](READ.md)", 2, "[read](../README.md#top) [log](log.md) [a](b:c)"),
]


@pytest.mark.parametrize(("path", "bad", "line", "good"), NAMED)
def test_what_prose_names_is_there(path: str, bad: str, line: int, good: str) -> None:
    assert [each.line for each in tidy.check_named_paths(path, bad, KNOWN)] == [line]
    assert list(tidy.check_named_paths(path, good, KNOWN)) == []


def test_nearly_equal_names_are_reported() -> None:
    planted = ["traces/judge.py", "traces/judging.py", "traces/judges/__init__.py", "a/judging.py"]
    assert list(tidy.alike([*planted, "tests/a/log.py", "tests/a/logs.py"])) == [
        "traces/judges/__init__.py:1: named nearly as traces/judge.py",
        "traces/judging.py:1: named nearly as traces/judge.py",
    ]
    assert list(tidy.alike(["a/log.py", "a/logic.py", "a/b/log.py", "a/logs.md"])) == []


def test_each_check_has_a_plant() -> None:
    assert {plant[0] for plant in PLANTS} == set(tidy.CHECKS)


@pytest.mark.parametrize("folder", sorted(tidy.PRINTING))
def test_where_printing_is_the_job_it_is_allowed(folder: str) -> None:
    assert list(tidy.check_print(f"{folder}/a.py", "print(1)\n")) == []


def test_recorded_data_may_be_wide() -> None:
    assert list(tidy.check_line_length("traces/samples/run.jsonl", "x" * 999)) == []


def test_a_violation_in_a_checkout_is_reported_with_its_place(tmp_path: Path) -> None:
    """End to end: a file that git knows counts, a draft or a binary one does not."""
    (tmp_path / "image.png").write_bytes(b"\x89\0")
    (tmp_path / "new.py").write_text("print(1)\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    (tmp_path / "draft.py").write_text("print(1)", encoding="utf-8")
    complaint = "1: print in a library; return it or write an artifact"
    assert tidy.findings(tmp_path) == [f"new.py:{complaint}"]


def test_an_unpacked_archive_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "theirs.py").write_text("print(1)", encoding="utf-8")
    (tmp_path / "ours.py").write_text("x = 1", encoding="utf-8")
    assert tidy.findings(tmp_path) == ["ours.py:1: no newline at the end of the file"]
