"""A small folder of specs for the tests of manifests: rules, a model, overlays, cfgs, a manifest.

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
HEAD = "SPECIFICATION Spec\nCONSTANT Top = 3\n"
CHECKED = "INVARIANTS AtMostThree Counting\n"


def replacing(name: str) -> str:
    return f"CONSTANT MayGrow <- [ToyRules] {name}\n"


CFGS = {
    "models/toy.cfg": HEAD + CHECKED,
    "models/probe.cfg": HEAD + "INVARIANT NeverTwo\n",
    "bugs/t01.cfg": HEAD + CHECKED + replacing("T01_MayGrow"),
    "bugs/t02.cfg": HEAD + CHECKED + replacing("T02_MayGrow"),
}
MANIFEST = """# The toy's models.
[[model]]
name = "toy"
module = "MCToy"
config = "models/toy.cfg"
tier = "small"
claim = "counts to three"
expect = "holds"
distinct = 4
depth = 4
generated = 5

[[model]]
name = "two"
module = "MCToy"
config = "models/probe.cfg"
tier = "small"
claim = "two is reached"
expect = "violated"
property = "NeverTwo"
length = 3
control = true

[[model]]
name = "t01"
module = "MCToy"
overlays = ["T01Unbounded"]
config = "bugs/t01.cfg"
tier = "bugs"
claim = "without the bound it counts on"
expect = "violated"
property = "AtMostThree"
length = 5
bug = "T01"
baseline = "toy"

[[model]]
name = "t02"
module = "MCToy"
overlays = ["T02Timid"]
config = "bugs/t02.cfg"
tier = "bugs"
claim = "a narrower bound is safe"
expect = "holds"
distinct = 3
depth = 3
bug = "T02"
baseline = "toy"
"""


def write_specs(folder: Path) -> Path:
    """The toy's specs in a new folder; returns the manifest's path. Overlays T03 and later are
    left out: `add` brings them."""
    files = {"ToyRules.tla": RULES, "models/MCToy.tla": MODEL, "models.toml": MANIFEST, **CFGS}
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


def add(folder: Path, name: str, cfg: str, table: str, *overlays: str) -> None:
    """A further model, with its cfg in bugs/ and its overlays."""
    for each in overlays:
        write(folder, f"bugs/{each}.tla", overlay(each))
    write(folder, f"bugs/{name}.cfg", cfg)
    listed = ", ".join(f'"{each}"' for each in overlays)
    with (folder / "models.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(
            f'\n[[model]]\nname = "{name}"\nmodule = "MCToy"\noverlays = [{listed}]\n'
            f'config = "bugs/{name}.cfg"\ntier = "more"\nclaim = "added"\n{table}\n'
        )
