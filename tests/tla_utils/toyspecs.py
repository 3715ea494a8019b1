"""A small folder of specs for the tests of manifests: rules, a model, overlays, a manifest.

The toy counts to three. Its rule `MayGrow` is what overlays replace.
"""

from __future__ import annotations

from pathlib import Path

RULES = """---- MODULE ToyRules ----
(* A decision with a name (* and a "nested comment *) in front *)
EXTENDS Integers
CONSTANT Top
MayGrow(n) == n < Top
Grown(n) == LET next == n + 1
                limit == Top
            IN IF MayGrow(n) THEN next ELSE n
====
"""
MODEL = """---- MODULE MCToy ----
EXTENDS ToyRules
VARIABLE n
Init == n = 0
Next == n' = Grown(n)
Spec == Init /\\ [][Next]_n
FairSpec == Spec /\\ WF_n(Next)
AtMostThree == n <= 3
Counting == n \\in Nat
NeverTwo == n # 2
Grows == [][n' >= n]_n
ReachesTop == <>(n = 3)
ReachesNine == <>(n = 9)
====
"""
OVERLAYS = {
    "T01Unbounded": "T01_MayGrow(n) == n < Top + 2",
    "T02Timid": "T02_MayGrow(n) == n < Top - 1",
    "T03Same": "T03_MayGrow(n) == ~(n >= Top)",
    "T04Endless": "Helper(n) == MayGrow(n)\nT04_MayGrow(n) == Helper(n)",
    "T05Probe": "NeverThree == n # 3",
}
HEAD = 'specification = "Spec"\nconstants = { Top = 3 }\n'
CHECKED = 'invariants = ["AtMostThree", "Counting"]\n'


def replacing(name: str) -> str:
    return f'replaces = {{ MayGrow = "[ToyRules] {name}" }}\n'


MANIFEST = """# The toy's models.
[toy]
claim = "counts to three"
tier = "small"
holds = { distinct = 4, depth = 4, generated = 5 }
module = "MCToy"
specification = "Spec"
constants = { Top = 3 }
invariants = ["AtMostThree", "Counting"]

[two]
claim = "two is reached"
like = "toy"
tier = "small"
violates = { property = "NeverTwo", length = 3, control = true }
invariants = ["NeverTwo"]

[t01]
claim = "without the bound it counts on"
like = "toy"
tier = "bugs"
violates = { property = "AtMostThree", length = 5 }
bug = "T01"
baseline = "toy"
overlays = ["T01Unbounded"]
replaces = { MayGrow = "[ToyRules] T01_MayGrow" }

[t02]
claim = "a narrower bound is safe"
like = "toy"
tier = "bugs"
holds = { distinct = 3, depth = 3 }
bug = "T02"
baseline = "toy"
overlays = ["T02Timid"]
replaces = { MayGrow = "[ToyRules] T02_MayGrow" }
"""


def write_specs(folder: Path) -> Path:
    """The toy's specs in a new folder; returns the manifest's path. Overlays T03 and later are
    left out: `add` brings them."""
    files = {"ToyRules.tla": RULES, "models/MCToy.tla": MODEL, "models.toml": MANIFEST}
    files |= {f"bugs/{name}.tla": overlay(name) for name in ("T01Unbounded", "T02Timid")}
    for place, text in files.items():
        write(folder, place, text)
    return folder / "models.toml"


def overlay(name: str) -> str:
    base = "MCToy" if name == "T05Probe" else "ToyRules"
    return f"---- MODULE {name} ----\nEXTENDS {base}\n{OVERLAYS[name]}\n====\n"


def write(folder: Path, place: str, text: str) -> None:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def add(folder: Path, name: str, run: str, table: str, *overlays: str) -> None:
    """A further model, with its overlays. run: the keys that say what TLC is given."""
    for each in overlays:
        write(folder, f"bugs/{each}.tla", overlay(each))
    listed = ", ".join(f'"{each}"' for each in overlays)
    with (folder / "models.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(
            f'\n[{name}]\nmodule = "MCToy"\noverlays = [{listed}]\n'
            f'tier = "more"\nclaim = "added"\n{run}{table}\n'
        )
