"""The cfgs of the small models that rules are forced in, and how to run them.

They are not in the manifest: nothing is claimed of them but that they differ.
"""

from __future__ import annotations

from kraftcheck.known_bugs.entries import manifest_of
from tests.specs.answers import answer
from tests.specs.forced import MESSAGES, REDUCED, TWO_EPOCHS
from tla_utils import ModuleText, TlcJob, TlcResult
from tla_utils.definitions import needed_definitions
from tla_utils.manifest import OVERLAYS
from tla_utils.overrides import find_module

LIBRARIES = manifest_of().libraries

_INVARIANTS = """INVARIANTS
  RowTypeInv
  ValidRolesAndStates
  NoIllegalState
  ElectionSafety
  EpochCacheSound
  AnnouncedLeaderIsCaughtUp
"""

_REDUCED = """SPECIFICATION MCSpec
CONSTANTS
  Voters = {n1, n2, n3}
  FetchMaxRecords = 1
  MaxEpoch = %d
  MaxRecords = %d
  MaxCrashes = %d
  SeparateResponses = FALSE
  RestingProspective = FALSE
  KeepAnswers = TRUE
SYMMETRY Symmetry
CONSTRAINT WithinEpochs
"""

_MESSAGES = """SPECIFICATION MCSpec
CONSTANTS
  Voters = {n1, n2}
  FetchMaxRecords = 1
  MaxEpoch = 1
  MaxRecords = 0
  MaxCrashes = 0
  Moves = {"Vote", "Begin", "Election", "Fetch", "MaxWait", "CheckQuorum"}
VIEW AliveView
SYMMETRY Symmetry
CONSTRAINT WithinEpochs
"""

MODELS: dict[str, tuple[str, str]] = {
    REDUCED: ("MCQuorumReduced", _REDUCED % (1, 1, 1) + _INVARIANTS),
    TWO_EPOCHS: ("MCQuorumReduced", _REDUCED % (2, 0, 0) + _INVARIANTS),
    MESSAGES: ("MCQuorum", _MESSAGES + _INVARIANTS),
}


def check(model: str, definitions: str = "", override: str = "") -> TlcResult:
    """Run one of MODELS, with definitions added to its root module and an override to its cfg."""
    module, cfg = MODELS[model]
    return run(module, cfg, definitions, override)


def run(module: str, cfg: str, definitions: str = "", override: str = "") -> TlcResult:
    """Run a root module that extends this one; `override` goes among the cfg's constants."""
    root = f"---- MODULE Forced ----\nEXTENDS {module}\n{definitions}\n====\n"
    cfg = cfg.replace("CONSTANTS\n", f"CONSTANTS\n{override}", 1)
    return answer(
        TlcJob(
            module=ModuleText("Forced", root),
            cfg=cfg,
            libraries=LIBRARIES,
            beside=beside(module, cfg),
            deadlock=False,
            heap_mb=2048,
            timeout_s=300,
        )
    )


def beside(modules: str, cfg: str) -> dict[str, str]:
    """Of the modules of bugs among these what a cfg asks for."""
    paths = [find_module(name, LIBRARIES) for name in modules.split(", ")]
    of_bugs = [path for path in paths if path and path.parent.name == OVERLAYS]
    return {path.stem: needed_definitions(path.read_text("utf-8"), cfg) for path in of_bugs}


def fingerprint(result: TlcResult) -> tuple[object, ...]:
    """What must change: the verdict, or the exact counts of a complete search."""
    assert result.verdict != "unknown", result.reason
    if result.verdict == "violated":
        return ("violated", result.property)
    return ("holds", result.distinct, result.generated)
