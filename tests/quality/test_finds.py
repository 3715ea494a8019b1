"""Each page of finds has the one form, and each is in the tables of its README."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kraftcheck.known_bugs.entries import manifest_of

FINDS = Path(__file__).resolve().parents[2] / "finds"
PAGES = {path.parent.name: path.read_text("utf-8") for path in sorted(FINDS.glob("*/README.md"))}
README = (FINDS / "README.md").read_text("utf-8")
PARTS = (
    *("Versions", "Preconditions and settings", "The story", "Evidence", "Cause"),
    *("Why what guards it does not help", "The smallest change", "What was tried to refute it"),
    *("Is it known?", "Bug report"),
)
REPORT = ("Summary", "Affects", "Steps", "Expected", "Observed", "Cause", "Proposed fix")
REPORTED = {"KAFKA-20914", "Z100"}
"""Others have reported them in the same words: there is no report of ours."""
WITHOUT_SOURCES = {"Z211", "Z213"}
"""New in 4.4.0, of which there are no sources: no lines of a file to name."""
OURS = re.compile(r"\bZ\d+\b|kraftcheck|experiments|\bb\d\b|\]\(")
"""What a reader of a report knows nothing of: our ids, verbs and scripts, brokers of a story."""
COLUMNS = ("3.9.2", "4.0", "4.1", "4.2", "4.3.1", "4.4.0")
"""The versions of the tables: L (seen on a cluster), C (on classes), r (read), n (not there)."""
LAST = re.compile(r"(\d\.\d\.\d), 2026-\d\d-\d\d")
KNOWN = "Send with a known cause"
MOST_STEPS = 12
MODELS = manifest_of().models
MODELLED = re.compile(r"spec\s+check((?:\s+--model\s+[\w-]+)+)")


def wrong(name: str, page: str) -> list[str]:
    """What a page lacks."""
    found = []
    if tuple(re.findall(r"^## (.+)$", page, re.MULTILINE)) != PARTS:
        found.append("its parts are others, or in another order")
    before, _, rest = page.partition("\n## ")
    if "**What a user loses.**" not in before:
        found.append("it does not begin with what a user loses")
    story = rest.partition("## The story\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. ", story, re.MULTILINE)
    if not 0 < len(steps) <= MOST_STEPS:
        found.append(f"its story has {len(steps)} steps")
    if name not in REPORTED:
        report = rest.partition("## Bug report\n")[2]
        found += [f"no {each} in its report" for each in REPORT if f"**{each}**" not in report]
        found += [f"its report says {each}" for each in sorted({*OURS.findall(report)})]
        if name not in WITHOUT_SOURCES and not re.search(r"\(4\.3\.1:\s+`\w+`\s+\d", report):
            found.append("its report names no lines")
        if "verdict" not in rest:
            found.append("it does not say what the kit says")
    return [*found, *unproved(rest)]


def modelled(page: str) -> list[str]:
    """The models that a page names: what it has checked, and what it calls by a model's name."""
    checked = [name for named in MODELLED.findall(page) for name in named.split()[1::2]]
    return [*checked, *(name for name in re.findall(r"`([\w-]+)`", page) if name in MODELS)]


def unproved(page: str) -> Iterator[str]:
    """What it does not say of a model, and of a recording that is stored."""
    models = modelled(page)
    yield from (f"no model {name}" for name in models if name not in MODELS)
    if not models and not re.search(r"\bNo\s+model\b", page):
        yield "it names no model, and not why there is none"
    stored = re.findall(r"\b[\w-]+\.zip\b", page)
    yield from (f"{name} is not stored" for name in stored if not [*FINDS.glob(f"*/{name}")])
    if not stored and ".moves" not in page and not re.search(r"\bno\s+recording\b", page):
        yield "it names no recording"


def miscounted(readme: str) -> Iterator[str]:
    """Models of the kit's table that TLC says other things of (their first number: states)."""
    kit = readme.partition("## By the kit, and fixed")[2].partition("\n## ")[0]
    for ids, cell in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", kit, re.MULTILINE):
        of = [*re.findall(r"`([\w-]+)`", cell), *re.findall(r"Z\d+", ids)]
        named = [name for name in MODELS if {name, name.partition("-")[0]} & {*of}]
        lengths = {MODELS[name].length or 0 for name in named}
        for states in re.findall(r"\b\d+\b(?![\w-]*`)", cell):
            if int(states) not in lengths:
                yield f"{ids}: {states} states, where models have {sorted(lengths)}"


def missing(names: Mapping[str, str], readme: str) -> list[str]:
    """Pages that a table does not tell of: of finds, of the kit, of how likely they are."""
    _, _, rest = readme.partition("## How likely")
    likely, _, kit = rest.partition("\n## Again")[0].partition("## By the kit, and fixed")
    found = []
    for name, page in names.items():
        ids = re.findall(r"(?:Z\d+|DR|KAFKA-\d+)", page.partition(":")[0])
        found += [
            f"{each}: not in {where}"
            for each in (name, *ids)
            for where, text in (("the table", readme), ("How likely", likely), ("the kit's", kit))
            if not re.search(rf"\b{each}\b", text)
        ]
    return found


def disagreeing(pages: Mapping[str, str], readme: str) -> Iterator[str]:
    """Cells of the table that are not what the page says."""
    row = re.compile(
        r"^\| \[[^]]+\]\((.+?)/README\.md\) \| [^|]* \| \*\*(.+?)\*\*: [^|]* \|"
        + r" ([^|]*) \|" * (len(COLUMNS) + 4)
        + "$",
        re.MULTILINE,
    )
    rows = {name: cells for name, *cells in row.findall(readme)}
    for name, page in pages.items():
        if name not in rows:
            yield f"{name}: no row of its cells"
            continue
        severity, *versions, last, evidence, _, _ = rows[name]
        columns = dict(zip(COLUMNS, versions, strict=True))
        run = LAST.fullmatch(last)
        if not run or not columns.get(run[1], columns.get(run[1][:3], "")).startswith(("L", "C")):
            yield f"{name}: last seen {last}, which is no run of the columns"
        told = page.partition("**Severity**: ")[2].replace("\n", " ")
        if not told.startswith(severity):
            yield f"{name}: {severity}, where the page says {told[:40]}"
        if bool(modelled(page)) != bool(re.search(r"\bmodel\b", evidence)):
            yield f"{name}: a model in one of them alone"
        yield from (
            f"{name}: {verb} is not on the page"
            for verb in re.findall(r"`(kraftcheck \w+)", evidence)
            if verb not in page.replace("\n", " ")
        )
        seen = page.partition("**Affects**:")[2].partition("(seen)")[0]
        live = re.search(r"live \(([^;)]*)", evidence)
        for version in re.findall(r"\d\.\d\.\d", live.group(1) if live else ""):
            if version not in seen and name not in REPORTED:
                yield f"{name}: live on {version}, which its report does not say"
            if not columns.get(version, columns.get(version[:3], "")).startswith("L"):
                yield f"{name}: live on {version}, which the column does not say"


def counted(readme: str) -> tuple[int, int]:
    """Of how many finds no report was found, and of how many something is known: by the tables."""
    parts = re.split(r"^## (.+)$", readme, flags=re.MULTILINE)
    new = known = 0
    for head, text in zip(parts[1::2], parts[2::2], strict=True):
        for cells in re.findall(r"^\| \[[^]]+\]\(.+?/README\.md\) \|(.+)\|$", text, re.MULTILINE):
            is_new = head != KNOWN and cells.rpartition("|")[2].strip().startswith("no")
            new, known = new + is_new, known + (not is_new)
    return new, known


def test_the_head_counts_what_the_tables_have() -> None:
    new, known = counted(README)
    said = f"{new + known} finds: of {new} no report was found, of {known} the cause"
    assert said in README and new + known == len(PAGES)
    row = "\n| [Z1](Z1/README.md) | x | no report found |\n"
    assert counted(f"## Notes\n{row}## {KNOWN}\n{row}") == (1, 1)


def test_there_are_pages() -> None:
    assert len(PAGES) > 30


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_form(name: str) -> None:
    assert wrong(name, PAGES[name]) == []


def test_each_is_in_the_tables() -> None:
    assert missing(PAGES, README) == []


def test_the_table_says_what_pages_say() -> None:
    assert list(disagreeing(PAGES, README)) == []


def test_its_models_have_so_many_states() -> None:
    assert list(miscounted(README)) == []


def test_what_is_not_of_the_form_is_noticed() -> None:
    page = PAGES["Z163"]
    assert wrong("Z163", page.replace("## Cause", "## Because")) != []
    assert wrong("Z163", page.replace("**Expected**", "Expected")) == ["no Expected in its report"]
    assert wrong("Z163", page.replace("6. b1", "6. b1\n" + "7. b1\n" * 7)) == [
        "its story has 13 steps"
    ]
    assert missing({"Z1": "# Z1: x"}, README)[0] == "Z1: not in the table"
    assert wrong("Z163", page.replace("--model Z163", "--model Z1630")) == ["no model Z1630"]
    assert wrong("Z163", page.replace("z163.zip", "z1.zip")) == ["z1.zip is not stored"]
    page = PAGES["Z211"].replace("No model", "A model").replace(".zip", "")
    assert wrong("Z211", page) == [
        *("it names no model, and not why there is none", "it names no recording"),
    ]
    assert list(miscounted(README.replace("| Z68 | 9 ", "| Z68 | 8 "))) != []
    page = PAGES["Z163"]
    assert wrong("Z163", page + "As Z140.\n") == ["its report says Z140"]
    assert wrong("Z163", page.replace("(4.3.1: ", "(")) == ["its report names no lines"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("| **low**:", "| **lost**:"),
        ("model; ", ""),
        ("`kraftcheck check`", "`kraftcheck conform`"),
        ("live (4.3.1)", "live (4.3.1, 3.9.2)"),
        ("| L | - | 4.3.1", "| C | - | 4.3.1"),
        ("| 4.0 |", "| 4.0 | unknown |"),
        ("4.3.1, 2026", "4.4.0, 2026"),
        ("| 4.3.1, 2026-11-29 |", "| yesterday |"),
    ],
)
def test_a_cell_that_is_not_the_page_s_is_noticed(before: str, after: str) -> None:
    checked = "`kraftcheck check`, `kraftcheck spec check --model Z68`"
    page = f"**Severity**: low; rare.\n{checked}\n**Affects**: 4.3.1 (seen), 3.9.2.\n"
    cells = "x | **low**: rare | L | - | - | - | L | - | 4.3.1, 2026-11-29 | live (4.3.1); model"
    cells += "; `kraftcheck check`"
    row = f"| [Z1](Z1/README.md) | {cells} | 4.0 | no |\n"
    assert list(disagreeing({"Z1": page}, row)) == []
    assert before in row
    assert len(list(disagreeing({"Z1": page}, row.replace(before, after)))) == 1
