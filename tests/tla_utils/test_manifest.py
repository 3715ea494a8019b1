"""Manifests: what is read, what is refused, and what lint finds; each with its planted fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tla_utils.toyspecs import (
    CHECKED,
    HEAD,
    MANIFEST,
    add,
    overlay,
    replacing,
    write,
    write_specs,
)
from tla_utils.config import cfg_text
from tla_utils.errors import ToolError
from tla_utils.manifest import lint, outline, read_manifest

REQUIRED = {"MCToy": ["AtMostThree", "Counting"]}
HOLDS = "holds = { distinct = 4, depth = 4 }\n"


def test_a_manifest_is_read(tmp_path: Path) -> None:
    manifest = read_manifest(write_specs(tmp_path))
    assert list(manifest.models) == ["toy", "two", "t01", "t02"]
    toy, t01 = manifest.models["toy"], manifest.models["t01"]
    assert (toy.expect, toy.distinct, toy.depth, toy.generated) == ("holds", 4, 4, 5)
    assert (toy.workers, toy.heap_mb, toy.deadlock, toy.overlays) == (1, 1024, False, ())
    assert (t01.overlays, t01.property, t01.bug) == (("T01Unbounded",), "AtMostThree", "T01")
    assert manifest.tiers == ["small", "bugs"]
    assert manifest.libraries == [tmp_path, tmp_path / "models", tmp_path / "bugs"]


def two_folders(tmp_path: Path) -> Path:
    """The toy's specs in a folder that is included, its rules in another, which is a library."""
    inner = write_specs(tmp_path / "toy")
    (tmp_path / "rules").mkdir()
    (tmp_path / "toy/ToyRules.tla").rename(tmp_path / "rules/ToyRules.tla")
    inner.write_text(f'libraries = ["../rules"]\n{inner.read_text()}')
    write(tmp_path, "models.toml", 'include = ["toy"]\n')
    return tmp_path / "models.toml"


def test_manifests_are_included_with_their_folders(tmp_path: Path) -> None:
    manifest = read_manifest(two_folders(tmp_path))
    assert list(manifest.models) == ["toy", "two", "t01", "t02"]
    assert manifest.models["t01"].folder == "toy"
    folders = [tmp_path / name for name in ("toy", "toy/models", "toy/bugs", "rules")]
    assert manifest.libraries == [tmp_path, *folders]
    assert manifest.module_text("ToyRules").startswith("---- MODULE ToyRules")
    with pytest.raises(ToolError, match=r"no module Toys in the folders of .*models\.toml"):
        manifest.module_text("Toys")
    assert lint(manifest, REQUIRED) == []
    assert lint(read_manifest(tmp_path / "toy/models.toml"), REQUIRED) == []


def test_a_module_that_is_in_two_folders_is_told(tmp_path: Path) -> None:
    path = two_folders(tmp_path)
    write(tmp_path, "rules/MCToy.tla", "---- MODULE MCToy ----\n====\n")
    told = f"{tmp_path}/rules/MCToy.tla has the name of {tmp_path}/toy/models/MCToy.tla"
    assert lint(read_manifest(path), REQUIRED) == [told]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('include = ["other"]', r"models\.toml: there is no folder other$"),
        ('include = ["rules"]', r"the manifest .*rules/models\.toml cannot be read: No such file"),
        ('include = ["."]', r"models\.toml: includes itself$"),
        ('include = ["toy", "toy"]', r"toy/models\.toml: model 'toy' is named twice$"),
        ('include = "toy"', r"models\.toml: include and libraries are lists of folders$"),
        ("libraries = [1]", r"models\.toml: include and libraries are lists of folders$"),
        ('libraries = ["gone"]', r"models\.toml: there is no folder gone$"),
        (
            'includes = ["toy"]',
            r"unknown key 'includes'; write each model as a table \[NAME\]; beside them only",
        ),
    ],
)
def test_folders_that_cannot_be_meant_are_refused(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = two_folders(tmp_path)
    path.write_text(f"{text}\n")
    with pytest.raises(ToolError, match=complaint) as caught:
        read_manifest(path)
    assert "\n" not in str(caught.value)


def test_models_are_selected(tmp_path: Path) -> None:
    manifest = read_manifest(write_specs(tmp_path))
    assert [m.name for m in manifest.select(["t02", "toy"])] == ["toy", "t02"]
    assert [m.name for m in manifest.select(["toy"], ["bugs"])] == ["toy", "t01", "t02"]
    assert len(manifest.select()) == 4
    with pytest.raises(ToolError, match=r"no model 't1' .*nearest: t01"):
        manifest.select(["t1"])
    with pytest.raises(ToolError, match=r"no model of tier 'huge' .*there are: small, bugs"):
        manifest.select(tiers=["huge"])


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('claim = "counts to three"\n', "", "model 'toy': the key 'claim' is missing"),
        ('module = "MCToy"\n', "", "model 'toy': the key 'module' is missing, or `like` another"),
        (", depth = 4", "", "model 'toy': holds: the key 'depth' is missing"),
        (", length = 3", "", "model 'two': violates: the key 'length' is missing"),
        ("generated = 5", "generatd = 5", "'toy': holds: unknown key 'generatd'; nearest: gener"),
        ("distinct = 4", 'distinct = "4"', "distinct must be a whole number, not '4'"),
        ("distinct = 4", "distinct = true", "distinct must be a whole number, not True"),
        ("distinct = 4", "distinct = 0", "distinct must be a whole number, not 0"),
        ("distinct = 4", "distinct = 4, length = 2", "holds: unknown key 'length'"),
        ("length = 3", "length = 3, depth = 2", "violates: unknown key 'depth'"),
        ("control = true", "control = 1", "control must be true or false, not 1"),
        ('["T01Unbounded"]', '"T01Unbounded"', "overlays must be a list of names"),
        ('["T01Unbounded"]', "[1]", "overlays must be a list of names"),
        ("holds = {", "passes = {", "unknown key 'passes'"),
        ("holds = { distinct = 4, depth = 4, generated = 5 }", "", "say either what `holds` or"),
        ("holds = {", "violates = {}\nholds = {", "say either what `holds` or what it `violates`"),
        ('tier = "small"', 'tier = " "', "tier must be a text"),
        ('tier = "small"', 'tier = "small"\ntimeout_s = -1', "timeout_s must be a number, not -1"),
        ('tier = "small"', 'tier = "small"\nomits = { A = 1 }', "omits must be a table of reasons"),
        ('bug = "T01"', 'bug = "T01"\nomits = { A = "x" }', "omits says nothing of a model"),
        ("[two]", "[toy]", "models.toml is no TOML"),
        ("[two]", '["../two"]', "a name is made of letters"),
        ('baseline = "toy"', 'shown_by = "toi"', "'t01': no shown_by 'toi'; nearest: two, toy"),
        ('baseline = "toy"', 'baseline = "toi"', "'t01': no baseline 'toi'; nearest: two, toy"),
        ("[toy]", "[[toy]]", r"models.toml: unknown key 'toy'; write each model as a table"),
        ("# The toy", "version = 2 # The toy", "unknown key 'version'"),
        ('claim = "counts to three"', "claim = three", "models.toml is no TOML: .*line 3"),
        # What TLC is given.
        ('like = "toy"', 'like = "toi"', "'two': there is no model 'toi' to be like; nearest: two"),
        ('like = "toy"', "like = 1", "'two': like must be the name of a model, not 1"),
        (
            'module = "MCToy"',
            'like = "t02"',
            "'toy': `like` goes round in a circle: toy -> t02 -> ",
        ),
        ('like = "toy"', 'like = "two"', "'two': `like` goes round in a circle: two -> two$"),
        ('module = "MCToy"', 'module = "MC Toy"', "'toy': module must be the name of a module"),
        (
            'specification = "Spec"',
            "specification = true",
            "specification must be a name, not True",
        ),
        (
            'specification = "Spec"',
            'specify = "Spec"',
            "unknown key 'specify'; nearest: specification",
        ),
        ("{ Top = 3 }", '{ Top = "3 Bottom = 4" }', "constants.Top: '3 Bottom = 4' is no value"),
        ("{ Top = 3 }", "{ Top = 3.5 }", "constants.Top must be a number, true, false, or a value"),
        ("{ Top = 3 }", "3", "constants must be a table, not 3"),
        (
            '"[ToyRules] T01_MayGrow"',
            "1",
            "replaces.MayGrow must be a text .*, not 1",
        ),
        ('"[ToyRules] T01_MayGrow"', '"[A B] C"', "replaces.MayGrow must be a text"),
        (
            'invariants = ["NeverTwo"]',
            "invariants = 1",
            "invariants must be a list of names, or add",
        ),
        ('invariants = ["NeverTwo"]', 'invariants.ad = ["A"]', "unknown key 'invariants.ad'"),
        (
            'invariants = ["NeverTwo"]',
            'invariants.drop = ["Count"]',
            "'two': invariants.drop has Count, which is not there; nearest: Counting",
        ),
        (
            'invariants = ["NeverTwo"]',
            'invariants.add = ["Counting"]',
            "'two': invariants.add has Counting, which is there already",
        ),
    ],
)
def test_a_manifest_is_read_strictly(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in MANIFEST
    write(tmp_path, "models.toml", MANIFEST.replace(old, new, 1))
    with pytest.raises(ToolError, match=complaint) as refused:
        read_manifest(tmp_path / "models.toml")
    assert "\n" not in str(refused.value) and "models.toml" in str(refused.value)


def test_a_manifest_that_is_no_list_of_tables_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "models.toml", "model = 3\n")
    with pytest.raises(ToolError, match=r"write each model as a table \[NAME\]"):
        read_manifest(tmp_path / "models.toml")
    with pytest.raises(ToolError, match="cannot be read: No such file"):
        read_manifest(tmp_path / "nowhere.toml")


def test_a_model_is_like_another_but_for_what_it_says(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    path.write_text(
        MANIFEST
        + """
[further]
claim = "as t01, differently"
like = "t01"
tier = "more"
holds = { distinct = 1, depth = 1 }
deadlock = true
specification = ""
init = "Init"
next = "Next"
constants = { Top = "", Names = '{"a b", n1}', Sure = false }
invariants = { add = ["NeverTwo"], drop = ["AtMostThree"] }
properties = ["Grows"]
replaces = { Grown = "Other" }
"""
    )
    model = read_manifest(path).models["further"]
    assert (model.module, model.overlays, model.deadlock) == ("MCToy", ("T01Unbounded",), True)
    assert (model.bug, model.baseline, model.expect) == (None, None, "holds")
    assert (
        cfg_text(model.config)
        == """\
INIT Init
NEXT Next
CONSTANTS
  Names = {"a b", n1}
  Sure = FALSE
  MayGrow <- [ToyRules] T01_MayGrow
  Grown <- Other
INVARIANTS
  Counting
  NeverTwo
PROPERTIES
  Grows
"""
    )


def test_several_workers_state_no_depth(tmp_path: Path) -> None:
    write(
        tmp_path,
        "models.toml",
        MANIFEST.replace(", depth = 4, generated = 5 }", " }\nworkers = 2", 1),
    )
    assert read_manifest(tmp_path / "models.toml").models["toy"].depth is None


def test_an_outline(tmp_path: Path) -> None:
    manifest = read_manifest(write_specs(tmp_path))
    files = outline(manifest, manifest.models["t01"])
    assert files.checked == ["AtMostThree", "Counting"] and files.replaced == ["MayGrow"]


T03 = ("T03Same",)


@pytest.mark.parametrize(
    ("run", "table", "overlays", "complaint"),
    [
        (HEAD, HOLDS, (), "there is no invariant and no property"),
        (HEAD + CHECKED, HOLDS, T03, "uses nothing that overlay T03Same defines"),
        (
            HEAD + CHECKED,
            'violates = { property = "NeverTwo", length = 3 }',
            (),
            "expects NeverTwo to be violated, but does not check it",
        ),
        (HEAD + CHECKED + replacing("T03_MayGrow"), HOLDS, T03, "as its baseline"),
        (
            HEAD + CHECKED + replacing("T03_MayGrow"),
            HOLDS + 'shown_by = "t02"',
            T03,
            "replaces MayGrow, which t02 does not show",
        ),
        (
            HEAD + CHECKED + replacing("T03_MayGrow"),
            HOLDS + 'shown_by = "toy"',
            T03,
            "is shown by toy, which has another module or no baseline",
        ),
        (
            HEAD + CHECKED + replacing("T03_MayGrow"),
            HOLDS + 'baseline = "toy"',
            T03,
            "counts of its baseline toy: then the override changes nothing",
        ),
        (
            HEAD.replace("3", "5") + CHECKED + replacing("T03_MayGrow"),
            'holds = { distinct = 6, depth = 6 }\nbaseline = "toy"',
            T03,
            "its baseline toy has other bounds: Top = 3 there, 5 here",
        ),
        (HEAD + CHECKED + replacing("T03_MayGrwo"), HOLDS, T03, "defines T03_MayGrwo"),
    ],
)
def test_what_cannot_mean_what_it_says_is_refused(
    tmp_path: Path, run: str, table: str, overlays: tuple[str, ...], complaint: str
) -> None:
    path = write_specs(tmp_path)
    add(tmp_path, "x", run, table, *overlays)
    manifest = read_manifest(path)
    with pytest.raises(ToolError, match=complaint):
        outline(manifest, manifest.models["x"])
    assert any(line.startswith("model x: ") for line in lint(manifest, REQUIRED))


def test_what_one_model_shows_serves_others_of_other_bounds(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    table = 'holds = { distinct = 5, depth = 5 }\nshown_by = "t02"\nbug = "T02"'
    add(tmp_path, "x", HEAD.replace("3", "5") + CHECKED + replacing("T02_MayGrow"), table)
    manifest = read_manifest(path)
    assert outline(manifest, replace(manifest.models["x"], overlays=("T02Timid",))).replaced


def test_a_manifest_in_order_has_no_complaint(tmp_path: Path) -> None:
    assert lint(read_manifest(write_specs(tmp_path)), REQUIRED) == []


def test_lint_compares_the_manifest_with_the_folder(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    write(tmp_path, "bugs/T09Spare.tla", "---- MODULE T09Spare ----\n====\n")
    more = overlay("T01Unbounded").replace("====", "Asked == 1\nT09_MayGrow(n) == Asked = n\n====")
    write(tmp_path, "bugs/T01Unbounded.tla", more)
    assert lint(read_manifest(path), REQUIRED) == [
        "T09_MayGrow of bugs/T01Unbounded.tla is in no model",
        "bugs/T09Spare.tla is in no model",
    ]


def test_lint_wants_required_properties_checked_or_omitted_with_a_reason(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    add(tmp_path, "x", HEAD + 'invariants = ["Counting"]\n', HOLDS)
    manifest = read_manifest(path)
    missing = "model x: checks neither AtMostThree nor says in `omits` why not"
    assert lint(manifest, REQUIRED) == [missing]
    assert "model toy: nobody says which properties a model of MCToy must check" in lint(
        manifest, {}
    )

    text = path.read_text("utf-8")
    path.write_text(text + 'omits = { AtMostThree = "reason" }\n', "utf-8")
    assert lint(read_manifest(path), REQUIRED) == []
    path.write_text(text + 'omits = { AtMostThre = "r", Counting = "r" }\n', "utf-8")
    assert lint(read_manifest(path), REQUIRED) == [
        missing,
        "model x: omits AtMostThre, which nobody asks for; nearest: AtMostThree",
        "model x: omits Counting, but checks it",
    ]


def test_lint_wants_violations_explained(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    text = MANIFEST.replace(", control = true", "").replace('bug = "T02"\nbaseline = "toy"\n', "")
    path.write_text(text, "utf-8")
    told = lint(read_manifest(path), REQUIRED)
    assert told[0].startswith("model two: a violation is either that of a bug or a control")
    assert told[1].startswith("model t02: replaces MayGrow and is expected to hold")
