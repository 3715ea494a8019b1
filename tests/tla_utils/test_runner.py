"""TLC itself on toy models: every verdict it can give, and every input it must refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tla_utils.errors import ToolError
from tla_utils.jar import Java
from tla_utils.output import TlcResult
from tla_utils.runner import ModuleText, Simulate, TlcJob, command_line, run_tlc

pytestmark = pytest.mark.tlc

MAX = "CONSTANT Max = 3\n"


@pytest.fixture
def counter(toys: Path) -> Any:
    def run(cfg: str, work_dir: Path | None = None, **options: Any) -> TlcResult:
        return run_tlc(TlcJob(toys / "Counter.tla", MAX + cfg, **options), work_dir=work_dir)

    return run


def xs(result: TlcResult) -> list[object]:
    return [state.values["x"] for state in result.counterexample]


def test_a_model_that_holds(counter: Any) -> None:
    result = counter("SPECIFICATION Spec\nINVARIANT TypeOK", coverage=True)
    assert (result.verdict, result.reason, result.complete) == ("holds", "", True)
    assert (result.generated, result.distinct, result.depth, result.queue_left) == (24, 14, 7, 0)
    assert result.printed == ['<<"wrapped at", 3>>']
    assert set(result.coverage) == {"Up", "Down", "Wrap"}
    assert sum(count.generated for count in result.coverage.values()) == 23
    assert result.cpu_seconds > 0 and result.peak_rss_mb > 20


def test_a_safety_violation(counter: Any) -> None:
    result = counter("SPECIFICATION Spec\nINVARIANT BelowMax")
    assert (result.verdict, result.kind, result.property) == ("violated", "safety", "BelowMax")
    assert xs(result) == [0, 1, 2, 3] and result.counterexample[3].action == "Up"


def test_going_on_reports_every_violation(counter: Any) -> None:
    result = counter("SPECIFICATION Spec\nINVARIANT BelowMax\nPROPERTY NeverDown", go_on=True)
    assert result.exit_code == 0 and result.verdict == "violated"
    assert {v.property for v in result.violations} == {"BelowMax", "NeverDown"}


def test_an_action_property(counter: Any) -> None:
    result = counter("SPECIFICATION Spec\nPROPERTY NeverDown")
    assert (result.kind, result.property, xs(result)) == ("action", "NeverDown", [0, 1, 0])


def test_liveness_lasso_and_stuttering(counter: Any) -> None:
    lasso = counter("SPECIFICATION FairSwing\nPROPERTY ReachesMax")
    assert (lasso.kind, lasso.property) == ("liveness", "ReachesMax")
    assert xs(lasso) == [0, 1] and lasso.loop_to == 1 and not lasso.stuttering
    lazy = counter("SPECIFICATION LazyClimb\nPROPERTY ReachesMax", deadlock=False)
    assert lazy.kind == "liveness" and lazy.stuttering and lazy.loop_to is None
    fair = counter("SPECIFICATION FairClimb\nPROPERTY ReachesMax", deadlock=False)
    assert fair.verdict == "holds"


def test_deadlock(counter: Any) -> None:
    result = counter("INIT Init\nNEXT Climb")
    assert (result.kind, xs(result)) == ("deadlock", [0, 1, 2, 3])


def test_an_evaluation_error_is_unknown(counter: Any) -> None:
    result = counter("SPECIFICATION Spec\nINVARIANT ReadsMissingField")
    assert (result.verdict, result.kind) == ("unknown", "error")
    assert 'nonexistent field "nowhere"' in result.reason


def test_no_states_are_no_success(counter: Any) -> None:
    result = counter("INIT NoState\nNEXT Next\nINVARIANT TypeOK")
    assert (result.verdict, result.kind) == ("unknown", "error")
    assert "no state at all" in result.reason


def test_simulation_and_deepening(counter: Any) -> None:
    walks = counter("SPECIFICATION Spec\nINVARIANT TypeOK", simulate=Simulate(num=5, depth=9))
    assert walks.verdict == "unknown" and "simulation" in walks.reason and walks.generated > 20
    shallow = counter("SPECIFICATION Spec\nINVARIANT BelowMax", dfid=3)
    assert shallow.verdict == "unknown"
    deep = counter("SPECIFICATION Spec\nINVARIANT BelowMax", dfid=20)
    assert deep.verdict == "violated" and xs(deep)[-1] == 3


def test_a_slow_run_is_stopped(counter: Any) -> None:
    result = counter("SPECIFICATION Spec\nINVARIANT TypeOK", timeout_s=0.2)
    assert result.verdict == "unknown" and "time limit of 0.2 s" in result.reason
    assert result.exit_code is None and result.seconds < 5


def test_a_cfg_is_not_judged_by_what_a_stopped_run_had_read(toys: Path, tmp_path: Path) -> None:
    """The planted fault: TLC is stopped before it has read the module that declares Max."""
    early, java = tmp_path / "Early.tla", tmp_path / "java"
    early.write_text("---- MODULE Early ----\n====\n")
    begun = "@!@!@STARTMSG 2262:0 @!@!@\nTLC2 Version 2.15\n@!@!@ENDMSG 2262 @!@!@"
    said = f"{begun}\nParsing file {early}"
    java.write_text(f"#!/bin/sh\ncat <<END\n{said}\nEND\nexec sleep 60\n")
    java.chmod(0o755)
    job = TlcJob(
        toys / "Counter.tla", MAX + "SPECIFICATION Spec", java=Java(str(java), 17), timeout_s=0.5
    )
    result = run_tlc(job)
    assert result.verdict == "unknown" and "time limit of 0.5 s" in result.reason
    assert result.modules == [str(early)]


@pytest.mark.parametrize(
    ("cfg", "complaint"),
    [
        ("SPECIFICATION Spec\nINVARIANT NoSuch", "Counter: .* invariant NoSuch"),
        ("SPECIFICATION NoSuch", "NoSuch"),
        ("SPECIFICATION Spec\nCONSTANT Up <- NoSuch", "substitutes for Up .* NoSuch"),
        ("SPECIFICATION Spec\nCONSTANT Up <- [NoModule] Down", "module name NoModule"),
        ("SPECIFICATION Spec\nCONSTANT Quorum = 3", "gives a value to Quorum"),
        ("SPECIFICATION Spec\nPOSTCONDITION Done", "cfg cannot be read"),
        ("", "did not specify the initial state"),
    ],
)
def test_a_cfg_that_does_not_fit_is_refused(counter: Any, cfg: str, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint) as refused:
        counter(cfg)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("x ==", "at line 2"),
        ("Init == y", "Unknown operator: `y'"),
        ("EXTENDS Nowhere", "source file for module Nowhere"),
    ],
)
def test_a_module_that_does_not_parse_is_refused(body: str, complaint: str) -> None:
    with pytest.raises(ToolError, match=f"M: a module does not parse: .*{complaint}"):
        run_tlc(TlcJob(ModuleText("M", f"---- MODULE M ----\n{body}\n===="), "INIT Init\nNEXT N"))


def test_missing_files_are_refused(tmp_path: Path, toys: Path) -> None:
    for job, complaint in [
        (TlcJob(toys / "Nowhere.tla", ""), "no module at"),
        (TlcJob(toys / "Counter.tla", tmp_path / "no.cfg"), "cfg .* cannot be read"),
        (TlcJob(toys / "Counter.tla", "", libraries=[tmp_path / "no"]), "folder .* not exist"),
    ]:
        with pytest.raises(ToolError, match=complaint):
            run_tlc(job)


def test_assumptions() -> None:
    text = "---- MODULE M ----\nVARIABLE x\nASSUME 1 = 2\nI == x = 0\nN == x' = x\n===="
    result = run_tlc(TlcJob(ModuleText("M", text), "INIT I\nNEXT N"))
    assert (result.verdict, result.kind) == ("violated", "assumption")


@pytest.mark.slow
def test_overrides_need_the_defining_module(toys: Path) -> None:
    def states(cfg: str) -> TlcResult:
        job = TlcJob(toys / "UsesRules.tla", f"INIT Init\nNEXT Next\n{cfg}", [toys / "library"])
        return run_tlc(job)

    correct = states("")
    assert (correct.distinct, correct.warnings) == (4, [])
    assert states("CONSTANT MayGrow <- [Rules] BugMayGrow").distinct == 6
    # TLC ignores this one without a word, so the runner has to say it.
    ignored = states("CONSTANT MayGrow <- BugMayGrow")
    assert ignored.distinct == 4
    assert "write MayGrow <- [Rules] BugMayGrow" in ignored.warnings[0]


def test_libraries_are_found_from_any_folder(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a root module that is text only, and whatever the current folder is."""
    monkeypatch.chdir(tmp_path)
    cfg = "INIT I\nNEXT N\nCONSTANT Top = 3"
    text = "---- MODULE Root ----\nEXTENDS Rules\nVARIABLE n\nI == n = 0\nN == n' = Grown(n)\n===="
    job = TlcJob(ModuleText("Root", text), cfg, libraries=[toys / "library"])
    assert run_tlc(job).distinct == 4
    with pytest.raises(ToolError, match="module Rules"):
        run_tlc(TlcJob(ModuleText("Root", text), cfg))
    assert list(tmp_path.iterdir()) == []


def test_the_work_folder_can_be_kept(counter: Any, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    counter("SPECIFICATION Spec", work_dir=folder)
    assert {"Counter.tla", "Counter.cfg", "tlc.out"} <= {p.name for p in folder.iterdir()}
    with pytest.raises(ToolError, match="not empty"):
        counter("SPECIFICATION Spec", work_dir=folder)


def test_the_command_line_says_everything(toys: Path, tmp_path: Path) -> None:
    job = TlcJob(
        toys / "Counter.tla",
        MAX,
        heap_mb=300,
        workers=2,
        seed=7,
        deadlock=False,
        go_on=True,
        long=True,
        dump=tmp_path / "g.dot",
        simulate=Simulate(3, 4),
    )
    command = " ".join(command_line(job, tmp_path))
    for part in (
        "-Xmx300m -XX:+UseParallelGC",
        f"-DTLA-Library={toys}",
        f"-metadir {tmp_path}/states -workers 2 -fp 0 -seed 7 -deadlock -continue",
        f"-simulate num=3 -depth 4 -dump dot,actionlabels {tmp_path}/g.dot",
        "-config Counter.cfg Counter",
    ):
        assert part in command
    assert "TieredStopAtLevel" not in command
    with pytest.raises(ToolError, match="not both"):
        command_line(TlcJob(toys / "Counter.tla", MAX, simulate=Simulate(1), dfid=2), tmp_path)
