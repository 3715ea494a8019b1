"""Kept answers of TLC: another question is asked, and what is kept is what TLC says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kraftcheck.specs import SPECS
from tests.specs import answers
from tests.specs.answers import Answer, answer, digest_of
from tla_utils import TlcJob, TlcResult, check_models, read_manifest, run_tlc

NAMES = (
    *("quorum-one-voter", "quorum-live-one-voter", "partition-in-order"),
    *("reach-transactions-abort", "transactions-v1-late-batch", "groups-joining"),
)


def job_of(name: str, specs: Path = SPECS) -> TlcJob:
    """The search of a model, as it is asked for there."""
    asked: list[TlcJob] = []

    def noted(job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
        asked.append(job)
        return TlcResult(verdict="unknown", reason="not asked")

    manifest = read_manifest(specs / "models.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tla_utils.models.run_tlc", noted)
        check_models(manifest, manifest.select([name]))
    return asked[0]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(SPECS, tmp_path / "specs")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        # The root, a module that others extend, the cfg.
        ("quorum/models/MCQuorum.tla", "MCNext ==", "MCNext == TRUE /\\"),
        ("quorum/QuorumRules.tla", "LogOk(row, m) ==", "LogOk(row, m) == TRUE \\/"),
    ],
)
def test_a_changed_text_is_another_question(file: str, old: str, new: str, copied: Path) -> None:
    name = "quorum-one-voter"
    same = digest_of(job_of(name))
    assert digest_of(job_of(name, copied)) == same
    text = (copied / file).read_text("utf-8")
    assert text.count(old) == 1
    (copied / file).write_text(text.replace(old, f"\\* A remark.\n{old}"), "utf-8")
    assert digest_of(job_of(name, copied)) == same
    (copied / file).write_text(text.replace(old, new), "utf-8")
    assert digest_of(job_of(name, copied)) != same


def test_what_is_said_otherwise_is_no_other_question(copied: Path) -> None:
    """The digest is one of what a configuration says; another value is another question."""
    job = job_of("quorum-one-voter")
    same = digest_of(job)
    path = copied / "quorum" / "models.toml"
    text = path.read_text("utf-8")
    head, found, rest = text.partition("MaxRecords = 2\n")
    assert found and "quorum-vote" not in head
    path.write_text(f"{head}MaxRecords = 2 # A remark.\n{rest}", "utf-8")
    assert digest_of(job_of("quorum-one-voter", copied)) == same
    path.write_text(f"{head}MaxRecords = 1\n{rest}", "utf-8")
    assert digest_of(job_of("quorum-one-voter", copied)) != same
    assert isinstance(job.cfg, str)
    spread = job.cfg.replace("\n", "\n\\* A remark.\n").replace("CONSTANTS", "CONSTANT")
    assert digest_of(replace(job, cfg=spread)) == same


@pytest.mark.parametrize(
    "changed",
    [
        lambda job: replace(job, deadlock=True),
        lambda job: replace(job, seed=2),
        lambda job: replace(job, dfid=5),
        lambda job: replace(job, go_on=True),
    ],
)
def test_other_options_are_another_question(changed: Callable[[TlcJob], TlcJob]) -> None:
    job = job_of(NAMES[0])
    assert digest_of(changed(job)) != digest_of(job)


def test_another_jar_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(NAMES[0])
    same = digest_of(job)
    monkeypatch.setattr(answers, "_jar", lambda: "another")
    assert digest_of(job) != same


def test_what_is_not_kept_is_asked_and_kept_unless_it_was_cut_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job, said = job_of(NAMES[0]), TlcResult(verdict="unknown", reason="stopped")
    monkeypatch.setattr(answers, "asked", {})
    monkeypatch.setattr(answers, "kept", dict)
    monkeypatch.setattr(answers, "KEPT", tmp_path / "answers.json")
    monkeypatch.setattr(answers, "run_tlc", lambda *_, **__: said)
    with pytest.warns(UserWarning, match="not all kept"):
        assert answer(job) == said
    assert answers.asked == {}
    said = TlcResult(verdict="holds", reason="", distinct=3, generated=5, depth=2, complete=True)
    with pytest.warns(UserWarning, match="not all kept"):
        assert answer(job) == said
    answers.store(answers.asked)
    stored = msgspec.json.decode(answers.KEPT.read_bytes(), type=dict[str, Answer])
    assert stored == answers.asked
    answers.asked.clear()
    monkeypatch.setattr(answers, "kept", lambda: stored)
    assert answer(job) == said
    assert list(answers.asked.values()) == [
        Answer(module="MCQuorum", verdict="holds", distinct=3, generated=5, depth=2)
    ]


@pytest.mark.tlc
@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_is_what_tlc_says(name: str) -> None:
    """The quickest of each protocol, asked each time."""
    job = job_of(name)
    found, said = answer(job), run_tlc(job)
    assert (found.verdict, found.property) == (said.verdict, said.property)
    if said.verdict == "holds":
        assert (found.distinct, found.generated) == (said.distinct, said.generated)
    assert len(found.counterexample) == len(said.counterexample)
