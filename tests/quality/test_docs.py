"""The generated parts of the documentation say what their sources say now, the glossary lists terms
that are used, and links lead to headings that are there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
import pytest

from kraftcheck import docs
from kraftcheck.cli import cli
from kraftcheck.reference.kit.properties import Property
from kraftcheck.reference.protocols import PROTOCOLS
from tests.quality import tidy

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = "docs/reference/glossary.md"
SCREENS = 200
"""Lines of a guide: five screens. A reference is looked up, so it may be longer."""
GUIDES = 14
LINES = 9_000


@pytest.mark.parametrize("page", docs.PAGES)
def test_generated_parts_are_fresh(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- generated: " in text
    assert docs.rewritten(text) == text, "run `make docs`"


def test_a_stale_part_is_noticed() -> None:
    text = "<!-- generated: trace -->\n| stale |\n<!-- end -->"
    assert docs.rewritten(text) != text


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("flags", ("| option | means | verbs |", "| `--seed` | Seed of all random choices. |")),
        ("foreign", ("### `BrokerRow`", "| `epoch` | number |")),
        ("trace", ("#### `rows`", "| `count` | int64 | count | how often the runs")),
    ],
)
def test_a_part_is_printed(
    capsys: pytest.CaptureFixture[str], part: str, lines: tuple[str, ...]
) -> None:
    docs.main(part)
    said = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(each) for line in said) for each in lines)


def synonyms(options: Iterable[tuple[str, click.Option]]) -> list[str]:
    """Meanings with two spellings."""
    spelt: dict[str, set[str]] = {}
    for _, option in options:
        spelt.setdefault(option.help or "", set()).add(option.opts[0])
    return [f"{' and '.join(sorted(s))}: {of}" for of, s in spelt.items() if of and len(s) > 1]


def test_one_meaning_of_options_has_one_spelling() -> None:
    assert synonyms(docs.options_of(cli)) == []


def test_a_second_spelling_is_noticed() -> None:
    options = [click.Option([name], help="Time limit.") for name in ("--budget", "--timeout")]
    assert synonyms(("check", each) for each in options) == ["--budget and --timeout: Time limit."]


def unused(glossary: str, used: str) -> list[str]:
    """Terms of the glossary (a first column of its tables) that occur nowhere else."""
    terms = re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)
    assert "row" in terms
    return [
        term
        for term in terms
        if term != "term" and not re.search(rf"\b{re.escape(term)}", used, re.IGNORECASE)
    ]


def test_the_glossary_lists_terms_that_are_used() -> None:
    names = [
        name
        for name in tidy.tracked_files(ROOT)
        if Path(name).suffix in {".py", ".tla", ".md"} and name != GLOSSARY
    ]
    used = "\n".join((ROOT / name).read_text("utf-8") for name in names)
    assert unused((ROOT / GLOSSARY).read_text("utf-8"), used) == []


def test_a_term_that_nobody_uses_is_noticed() -> None:
    glossary = "| term | means |\n|---|---|\n| row | state |\n| gribble | none |\n"
    assert unused(glossary, "Rows are values.") == ["gribble"]


def lost_headings(pages: Mapping[str, str]) -> list[str]:
    """Links to a heading of a page that has none of that name, by GitHub's rule for names."""
    headings = {
        page: {_anchor(title) for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
        for page, text in pages.items()
    }
    return [
        f"{page}: {target}#{anchor}"
        for page, text in pages.items()
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", text)
        if anchor not in headings.get(_page(page, target), set())
    ]


def _page(page: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def test_links_lead_to_headings() -> None:
    names = [name for name in tidy.tracked_files(ROOT) if name.endswith(".md")]
    pages = {name: (ROOT / name).read_text("utf-8") for name in names}
    assert lost_headings(pages) == []


def test_a_lost_heading_is_noticed() -> None:
    pages = {
        "docs/a.md": "# A page\n[here](#a-page) [lost](#b) [it](b.md#the-claim-l9) [no](b.md#it)",
        "docs/b.md": "## The `claim` (L9)\n",
    }
    assert lost_headings(pages) == ["docs/a.md: #b", "docs/a.md: b.md#it"]


def unread(lines: Mapping[str, int], index: str) -> list[str]:
    """Guides (the pages beside the index) of more than five screens or too many, pages of any
    folder that the index lacks, and too many lines. Pages of `measured` belong to others."""
    guides = {name: count for name, count in lines.items() if "/" not in name}
    wrong = [f"{name}: {n} lines" for name, n in guides.items() if n > SCREENS]
    wrong += [f"{len(guides)} guides"] if len(guides) > GUIDES else []
    wrong += [f"{sum(lines.values())} lines"] if sum(lines.values()) > LINES else []
    listed = re.findall(r"\]\(([^)#]+)\)", index)
    pages = [name for name in lines if not name.startswith(("measured/", "README"))]
    return wrong + [f"{name}: not in the index" for name in pages if name not in listed]


def test_a_guide_fits_on_five_screens_and_the_index_has_every_page() -> None:
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)): page.read_text("utf-8") for page in docs.rglob("*.md")}
    lines = {name: len(text.splitlines()) for name, text in pages.items()}
    assert unread(lines, pages["README.md"]) == []


def test_a_long_guide_and_a_lost_page_are_noticed() -> None:
    lines = {"README.md": 9, "try.md": SCREENS + 1, "reference/a.md": 999, "measured/b.md": 9}
    assert unread(lines, "[try](try.md)") == [
        f"try.md: {SCREENS + 1} lines",
        "reference/a.md: not in the index",
    ]
    many = {f"{n}.md": SCREENS for n in range(GUIDES + 1)} | {"reference/a.md": LINES}
    index = " ".join(f"[it]({name})" for name in many)
    assert unread(many, index) == ["15 guides", f"{LINES + 15 * SCREENS} lines"]


def comments(module: str) -> dict[str, str]:
    """What a module says above each operator. `M!Name` is another's."""
    found = re.finditer(r"((?:^\(\*.*\*\)\n)*)^(\w+?)(?:Step)? ==(?! \w+!)", module, re.M)
    said: dict[str, str] = {}
    for box, name in (each.groups() for each in found):
        text = " ".join(re.findall(r"^\(\*+ ?(.*?) ?\*+\)$", box, re.M))
        said[name] = " ".join(text.split()) or said.get(name, "")
    return said


def spec_comments() -> list[dict[str, str]]:
    return [comments(path.read_text("utf-8")) for path in (ROOT / "specs").rglob("*Properties.tla")]


def without_misses(said: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Properties of specs whose comment does not say what they miss."""
    return [name for name in names if name in said and "Misses:" not in said[name]]


def apart(properties: Iterable[Property], said: Iterable[Mapping[str, str]]) -> list[str]:
    """Properties of the reference whose docstring is no comment of the spec: of one of them, if
    several specs have a property of that name."""
    both = [*said]
    return [
        each.name
        for each in properties
        if (texts := {text[each.name] for text in both if each.name in text})
        and (f"{each.sentence} Misses: {each.misses}" if each.misses else each.sentence)
        not in texts
    ]


OF_MOVING = {"ValidControllerState", "WeakIsr", "DeletedEverywhere"}
"""Weaker in `moving`, and not in its spec (docs/reference/reconfiguration.md)."""
STATED = [
    each
    for protocol in PROTOCOLS
    for each in docs.stated(protocol)
    if not (protocol.name in {"moving", "directories"} and each.name in OF_MOVING)
]


def test_specs_say_what_each_property_would_miss() -> None:
    named = {each.name for each in STATED}
    assert len(named) > 100
    assert [lost for said in spec_comments() for lost in without_misses(said, named)] == []


def test_a_property_that_misses_nothing_is_noticed() -> None:
    module = "(* No two. Misses: one. *)\nSingle == TRUE\n\n(* All. *)\nWholeStep == TRUE\n"
    assert without_misses(comments(module), ["Single", "Whole", "Absent"]) == ["Whole"]


def test_the_reference_describes_properties_as_the_specs_do() -> None:
    said = spec_comments()
    assert len({each.name for each in STATED} & {name for text in said for name in text}) > 150
    assert apart(STATED, said) == []


def test_another_description_is_noticed() -> None:
    said = [comments("(* No *)\n(* two. Misses: one. *)\nSingle == TRUE\n")]
    right = STATED[0]._replace(name="Single", sentence="No two.", misses="one.")
    wrong = right._replace(misses="none.")
    assert apart([right, wrong, right._replace(name="Other")], said) == ["Single"]


RULE = r"[CGPQRTVX]\d{1,2}"
"""A rule's id, but those of storage and shares, which have pages of their own."""


def rules_named(said: str) -> set[str]:
    """The ids that a text names; of `G23 to G27` both ends."""
    return set(re.findall(rf"\b{RULE}\b(?!-)", said))


def without_row(sources: Mapping[str, str], page: str) -> list[str]:
    """Rules that prose names, which have no row in the page."""
    rows = rules_named("\n".join(re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)))
    return [
        f"{name}: {rule}"
        for name, text in sources.items()
        for rule in sorted(rules_named("\n".join(said for _, said in tidy.prose(name, text))))
        if rule not in rows
    ]


def test_every_rule_that_is_named_has_a_row() -> None:
    names = [
        name
        for name in tidy.tracked_files(ROOT)
        if name.startswith(("reference/", "specs/", "kraftcheck/kafka/serve/"))
        and name.endswith((".py", ".tla"))
    ]
    sources = {name: (ROOT / name).read_text("utf-8") for name in names}
    page = (ROOT / "docs/reference/protocol-rules.md").read_text("utf-8")
    assert without_row(sources, page) == []


def test_a_rule_without_a_row_is_noticed() -> None:
    page = "| id | rule |\n|---|---|\n| G2, G3 | a rule |\n"
    sources = {"a.py": '"""G2 to G4."""\n', "b.tla": "(* G3. *)"}
    assert without_row(sources, page) == ["a.py: G4"]
