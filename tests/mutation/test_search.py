"""The search finds a hole that was planted: a checker whose test does not see all that it says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen
from tests.mutation import search
from tests.mutation.search import Settings

pytestmark = pytest.mark.slow

CHECKER = '''
def never_falls(marks):
    """Whether no mark is below the one before."""
    k = 1
    while k < len(marks):
        if marks[k] < marks[k - 1]:
            return False
        k += 1
    return True
'''
TESTS = """
from planted.checker import never_falls

def test_marks():
    assert never_falls([1, 2, 3])
    assert not never_falls([2, 1])
"""
CLOSED = "    assert never_falls([1, 1])\n"
TABLE = '[[group]]\nmutants = 3\nmodules = ["planted/*.py"]\ntests = []\n'

CHECKED = "planted/checker.py::never_falls::"
HOLE, NOTICED, ENDLESS = f"{CHECKED}bound#2", f"{CHECKED}opposite#2", f"{CHECKED}statement#1"
CHANGE = "marks[k] < marks[k - 1] -> (marks[k] <= marks[k - 1])"

Ask = Callable[..., int]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "planted/checker.py": CHECKER,
        "tests/planted/test_checker.py": TESTS,
        Settings().table: TABLE,
        Settings().reasons: "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def ask(tree: Path) -> Ask:
    def asked(*named: str, patience_s: float = 60.0, again: bool = False) -> int:
        settings = Settings(root=tree, patience_s=patience_s, named=named, again=again)
        return search.run(settings, Screen())

    return asked


def give(tree: Path, id: str, change: str = CHANGE, why: str = "it is planted") -> None:
    broken = change.replace(" -> ", "\n-> ")
    text = f'["{id}"]\nchange = """\n{broken}"""\nwhy = "{why}"\n'
    (tree / Settings().reasons).write_text(text, encoding="utf-8")


def test_a_hole_is_reported(
    tree: Path,
    ask: Ask,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copies = tmp_path_factory.mktemp("copies")
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    assert ask(HOLE, NOTICED) == exits.VIOLATED
    said = capsys.readouterr().out
    assert f"survived: {HOLE}\n  planted/checker.py:6: {CHANGE}" in said
    assert NOTICED not in said
    # The checkout is as it was, and no copy is left.
    assert (tree / "planted/checker.py").read_text("utf-8") == CHECKER
    assert list(copies.iterdir()) == []


def test_a_reason_is_taken_and_a_test_makes_it_needless(
    tree: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    give(tree, HOLE)
    assert ask(HOLE) == exits.HOLDS
    (tree / "tests/planted/test_checker.py").write_text(TESTS + CLOSED, encoding="utf-8")
    assert ask(HOLE) == exits.HOLDS
    assert ask(HOLE, again=True) == exits.VIOLATED
    assert f"reason out of place: {HOLE}: a test notices it" in capsys.readouterr().out
    (tree / Settings().reasons).write_text("", encoding="utf-8")
    assert ask(HOLE) == exits.HOLDS


@pytest.mark.parametrize(
    ("id", "change", "said"),
    [
        (HOLE, "marks[k] < 3 -> marks[k] <= 3", f"{HOLE}: is now {CHANGE}"),
        (f"{CHECKED}bound#9", CHANGE, f"{CHECKED}bound#9: no such mutant"),
    ],
)
def test_a_reason_for_another_text_is_out_of_place(
    tree: Path, ask: Ask, capsys: pytest.CaptureFixture[str], id: str, change: str, said: str
) -> None:
    give(tree, id, change)
    assert ask(NOTICED) == exits.VIOLATED
    assert f"reason out of place: {said}" in capsys.readouterr().out


def test_an_empty_reason_is_none(tree: Path, ask: Ask) -> None:
    give(tree, HOLE, why=" ")
    with pytest.raises(BadInput, match="has no reason"):
        ask(HOLE)


def test_what_never_ends_is_noticed(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """`k += 1` dropped."""
    assert ask(ENDLESS, patience_s=2.0) == exits.HOLDS
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row == ["planted/checker.py", "1", "0", "1", "0", "0", "0"]


def test_what_is_known_is_not_asked_again(
    tree: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(NOTICED) == exits.HOLDS
    monkeypatch.setattr(search, "overlay", None)
    other = TESTS + "\n\ndef test_other():\n    pass\n"
    (tree / "tests/planted/test_checker.py").write_text(other, encoding="utf-8")
    assert ask(NOTICED) == exits.HOLDS
    (tree / "tests/planted/test_checker.py").write_text(other.replace("2, 1", "3, 1"), "utf-8")
    with pytest.raises(TypeError):
        ask(NOTICED)
    (tree / "tests/planted/test_checker.py").write_text(TESTS, encoding="utf-8")
    changed = CHECKER.replace("return True", "return 1 > 0")
    (tree / "planted/checker.py").write_text(changed, encoding="utf-8")
    with pytest.raises(TypeError):
        ask(NOTICED)


def test_time_that_is_up_leaves_unknown(tree: Path) -> None:
    assert search.run(Settings(root=tree, minutes=0.0), Screen()) == exits.UNKNOWN


def test_tests_that_fail_anyway_are_no_judges(tree: Path, ask: Ask) -> None:
    (tree / "planted/checker.py").write_text(CHECKER.replace("False", "True"), encoding="utf-8")
    with pytest.raises(BadInput, match="test_marks fails without a mutation"):
        ask("planted")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (TABLE.replace("planted/*", "nowhere/*"), "is no module"),
        (TABLE.replace("tests = []", 'tests = ["tests/nowhere"]'), "is not there"),
        (TABLE.replace("mutants = 3", 'mutants = "3"'), "Expected `int`"),
        (TABLE.replace("planted/*.py", "tests/planted/*.py"), "no test covers"),
    ],
)
def test_a_table_that_names_what_is_not_there(tree: Path, ask: Ask, table: str, said: str) -> None:
    (tree / Settings().table).write_text(table, encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        ask()


def test_a_name_that_is_none(ask: Ask) -> None:
    with pytest.raises(BadInput, match="elsewhere is no mutant"):
        ask("elsewhere")
