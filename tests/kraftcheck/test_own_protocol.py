"""A protocol from outside of the repository: docs/new-protocol.md and
docs/reference/joins.md work as they are typed there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import commands
from tests.quality import readme

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/new-protocol.md", "docs/reference/joins.md")
BIN = Path(sys.executable).parent


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A reader's home."""
    return tmp_path


@pytest.fixture(autouse=True)
def reader(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


@pytest.mark.acceptance
@pytest.mark.tlc
def test_the_tutorial_works_as_it_is_typed(home: Path) -> None:
    # Later sessions use what the first has copied.
    folder = ROOT
    for page in PAGES:
        parsed = readme.parse((ROOT / page).read_text("utf-8"))
        assert parsed.complaints == [] and parsed.sessions
        for session in parsed.sessions:
            failure = readme.run(session, (), folder)
            assert failure is None, f"{page}:{failure}"
            folder = home


# -- What is refused, in one line that says which and what


def asked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return said("--protocol", folder, *arguments)


def said(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return commands.run(*words, env={**os.environ, **variables})


PLANTED = [
    ("protocol.py", "    messages=(AcquireRequest,", "    massages=(AcquireRequest,", "massages"),
    ("protocol.py", "    handlers=handlers,\n", "", "'handlers'"),
    ("protocol.py", "PROTOCOL = Protocol(", "OTHER = Protocol(", "defines no PROTOCOL"),
    ("protocol.py", '    name="lease",', '    name="quorum",', "a protocol quorum already"),
    ("protocol.py", 'name="lease-client"', 'name="voter"', "a kind of node voter already"),
    (
        "protocol.py",
        "    written: int = 0",
        "    written: float = 0",
        "Server.written holds a float",
    ),
    (
        "protocol.py",
        "    ticks: AtLeastOne",
        "    beats: AtLeastOne",
        "no constant Beats for 'beats'",
    ),
    ("protocol.py", 'module="Lease"', 'module="Loan"', "no module Loan"),
    ("Lease.tla", "Step_HandleWrite(n", "Step_HandleWrites(n", "not define Step_HandleWrite,"),
    (
        "Lease.tla",
        "Step_HandleServerTick(n, row, input)",
        "Step_HandleServerTick(n, row)",
        "take 3",
    ),
    ("Lease.tla", "InitialClient ==", "FirstClient ==", "does not define InitialClient"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), PLANTED, ids=lambda text: text[:12])
def test_what_is_wrong_with_a_protocol_is_said_in_one_line(
    file: str, old: str, new: str, said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "lease"
    shutil.copytree(ROOT / "examples/lease", folder)
    text = (folder / file).read_text("utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), "utf-8")
    done = asked(folder, "bugs", "list", "--quiet")
    assert done.returncode == 3, done.stdout
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_folder_without_a_protocol_is_refused(tmp_path: Path) -> None:
    done = asked(tmp_path, "bugs", "list")
    assert done.returncode == 3 and "it has no file protocol.py" in done.stderr


def test_the_variable_alone_has_both_sides_compared_too(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "examples/lease", tmp_path / "lease"))
    variable = {"KRAFTCHECK_PROTOCOL": str(folder)}
    good = said("bugs", "list", **variable)
    assert good.returncode == 0 and "L01" in good.stdout
    text = (folder / "Lease.tla").read_text("utf-8")
    (folder / "Lease.tla").write_text(text.replace("InitialClient ==", "First =="), "utf-8")
    done = said("bugs", "list", "--quiet", **variable)
    assert done.returncode == 3, done.stdout
    assert "does not define InitialClient" in done.stderr and done.stderr.count("\n") == 1


NEVER_SO = '''
@sometimes(WriteRequest)
def nobody_writes(before: Server, input: WriteRequest) -> bool:
    """It cannot be."""
    return input.token < 0


# -- The protocol
'''


@pytest.mark.slow
@pytest.mark.tlc
def test_a_campaign_says_which_conditions_no_run_came_to(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "examples/lease", tmp_path / "lease"))
    text = (folder / "protocol.py").read_text("utf-8")
    (folder / "protocol.py").write_text(text.replace("# -- The protocol\n", NEVER_SO), "utf-8")
    out = tmp_path / "out"
    few = ("--scenario", "lease", "--runs", "20", "--seed", "1", "--out", str(out))
    done = asked(folder, "campaign", "run", *few)
    assert done.returncode == 0, done.stderr
    assert "    never reached: NobodyWrites\n" in done.stdout
    found = json.loads((out / "findings.json").read_bytes())
    told = found["configurations"][0]["sometimes"]
    reached = {each["name"] for each in told["reached"]}
    assert reached == {"LateWriteArrives", "LeaseIsAskedForWhileItIsLent"}
    assert "NobodyWrites" in (out / "report.html").read_text("utf-8")


# -- Two at once


@pytest.fixture
def two(tmp_path: Path) -> tuple[str | Path, ...]:
    """A second protocol with the types of the first, as far as they may have one name."""
    lease = shutil.copytree(ROOT / "examples/lease", tmp_path / "lease")
    loan = shutil.copytree(lease, tmp_path / "loan")
    (loan / "composition.py").unlink()
    inputs = "AcquireRequest|Granted|WriteRequest|WriteResponse|ServerTick|ClientTick|Acquire|Write"
    for path in (loan / "protocol.py", loan / "bugs.py", *loan.rglob("*.tla")):
        text = path.read_text("utf-8").replace('"lease', '"loan').replace("lease.", "loan.")
        before = r"\b" if path.suffix == ".py" else '(?<=Handle)|(?<=")'
        path.write_text(re.sub(rf"({before})({inputs})\b", r"Loan\2", text), "utf-8")
    return ("--protocol", lease, "--protocol", loan)


def test_two_protocols_may_have_rows_of_one_name(two: tuple[str | Path, ...]) -> None:
    for name in ("bugs.py", "bugs.toml"):
        (Path(two[-1]) / name).unlink()
    schema = said(*two, "conform", "--schema")
    assert schema.returncode == 0, schema.stderr
    names = json.loads(schema.stdout)["$defs"]
    assert {"lease.protocol.Server", "loan.protocol.Server", "VoteRequest"} <= names.keys()


def test_two_bugs_have_ids_of_their_own(two: tuple[str | Path, ...]) -> None:
    done = said(*two, "bugs", "list", "--quiet")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "protocol loan: there is a bug L01 already: rename it" in done.stderr


def test_a_bug_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "examples/lease", tmp_path / "lease"))
    path = folder / "bugs.py"
    path.write_text(path.read_text("utf-8").replace("Server, WriteRequest", "Server, Nothing"))
    done = asked(folder, "bugs", "list", "--quiet")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "protocol lease: bugs raised ImportError" in done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("bugs.toml", "[L01]", "[L1x]", "bugs.toml has no entry for L01"),
        (
            "bugs.toml",
            "[L01]",
            "[L02]\ntitle = 1\n[L01]",
            "L02: Expected `str`, got `int`",
        ),
        ("bugs.toml", "[L01]", "[lo]\nx = 1\n[L01]", "bugs.toml: 'lo' is no id"),
        ("bugs.toml", "title =", "titel =", "unknown field `titel`"),
        ("bugs.toml", '["WrittenRises"]', "[]", "length >= 1 - at `$.properties`"),
        ("bugs.toml", '"tlc"', '"tlx"', "Invalid enum value 'tlx' - at `$.detectors[0]`"),
        ("bugs.py", "class L01NoFence", "class M01NoFence", "bugs.toml has no entry for M01"),
        ("bugs.py", "class L01NoFence", "class NoFence", "no class of bugs.py has a name that"),
        (
            "bugs/l02_more.py",
            "",
            "BUG = 1\n",
            "write bugs as classes of bugs.py and entries",
        ),
        ("bugs.toml", "[L01]", "[L01", "bugs raised TOMLDecodeError"),
    ],
)
def test_bugs_that_are_not_in_order_are_named(
    file: str, old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(ROOT / "examples/lease", tmp_path / "lease"))
    path = folder / file
    text = path.read_text("utf-8") if path.exists() else ""
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else new, "utf-8")
    done = asked(folder, "bugs", "list", "--quiet")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert complaint in done.stderr
