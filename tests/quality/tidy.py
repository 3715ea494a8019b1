"""Checks that style is kept, as functions from a path and its text to lines of complaint.

Each takes the path as git prints it and the text of the file, and returns `line: what` pairs; none
reads a file, so that test_tidy.py can plant a violation for each in a line of its own. The markers
that the checks look for are put together from halves, since this file is checked too.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import posixpath
import re
import subprocess
import tokenize
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LINE_MAX = 100
FUNCTION_MAX = 70

# What people write and read as source. Recorded data (traces, transcripts, locks) is as wide as
# it is.
SOURCE_SUFFIXES = {".py", ".tla", ".cfg", ".toml", ".sh", ".md", ".j2", ".html", ".css", ".in"}
SOURCE_NAMES = {"Makefile", "run"}

# Where talking to the terminal is the job.
PRINTING = {"kraftcheck", "benchmarks", "tools"}

# The folders of .gitignore, for checkouts that git knows nothing of.
UNTRACKED = {".venv", "build", "dist", "runs", "states", "__pycache__", "kraftcheck.egg-info"}
UNTRACKED |= {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".setup.lock"}

MARKERS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")
ENDING = re.compile(r"(?<=\w{4})(?:ings?|ations?|ments?|ed|ers?|e?s|e)$")
# A folder that exists on one person's machine, at the start of a path.
MACHINE_PATHS = re.compile(r"(?<![\w.~}])/(" + "|".join(("ro" + "ot", "wo" + "rk")) + r")\b")
HOME_PATHS = re.compile(r"(?<![\w.~}])/(ho" + r"me|Us" + r"ers)/\w")
ADDRESS = ":" + "//"


PLAIN = {"README.md", "CONTRIBUTING.md", "SECURITY.md"}
PLAIN |= {"specs/README.md", "tests/README.md", "tla_utils/README.md"}
PLAIN_IN = ("docs/*.md", "finds/*README.md", "specs/*.tla", "reference/*/bugs.toml")
PLAIN_CODE = re.compile(r"reference/quorum/\w+\.py")
"""Text held to plain English are these files and patterns; of modules the comments."""
REMARKS = re.compile(r"\(\*.*\*\)|\\\*.*")
EXCEPTED = "<!-- as meant -->"
TWICE = {
    r"\b(is|are|was|were|be) (told|asked|said)\b": "who reports, prints or requests it",
    r"\b(judged|asked|tried|known|held) (is|are|was|were)\b": "subject, verb, object",
    r"\b(tells|hears(?! from)|knows of)\b": "reports, receives or has",
    r"\b(whoever|whichever|so many|so long as)\b": "the noun, or `number of`",
    r"\bbehind\b": "`after`",
    r"\bin (front|the place) of\b": "`before` or `in place of`",
    r"\bmay not\b": "`must not` or `need not`",
    r"\b(goes|go|went) on\b": "continues",
    r"\banew\b": "`again`",
    r"\ball the same\b": "`nevertheless`, or nothing",
    r"\bstands? still\b": "pauses",
}
"""Patterns by what to write instead: those that made readers go back most often."""
PAGES_TWICE = {
    r"\b(leads|lives) on\b(?!:)": "keeps leading",
    r"\b(hear|heard)\b(?! from)": "receives or learns",
    r"\bwho (has|asks|knows|reads)\b": "the node, or `that`",
    r"\b(taken|takes?) (it |them )?for\b(?! granted)": "counts as, or treats as",
    r"\blooked at\b": "checked or used",
    r"\blets? in\b": "accepts",
    r"\bbut for\b": "except",
    r"\b(of before|at work on|held up|amid)\b": "earlier, working on, delayed, during",
    r"\bbe it\b": "whether or not",
    r"\bcomes? of\b": "follows from",
}
"""Those of pages and Python; the specs' comments are not held to them yet."""


class Finding(NamedTuple):
    line: int
    what: str


Check = Callable[[str, str], Iterator[Finding]]


def is_source(path: str) -> bool:
    pure = PurePosixPath(path)
    return pure.suffix in SOURCE_SUFFIXES or pure.name in SOURCE_NAMES


def check_line_length(path: str, text: str) -> Iterator[Finding]:
    if not is_source(path):
        return
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        # The name of a table of TOML cannot be broken.
        if path.endswith(".toml") and line.startswith("["):
            continue
        if path.endswith(".md"):
            fenced ^= line.lstrip().startswith("```")
            # A row of a table cannot be broken, nor can what a program prints.
            if fenced or line.lstrip().startswith("|"):
                continue
        if len(line) > LINE_MAX:
            yield Finding(number, f"line of {len(line)} characters, more than {LINE_MAX}")


def check_function_length(path: str, text: str) -> Iterator[Finding]:
    for node in python_nodes(path, text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_MAX:
                yield Finding(
                    node.lineno,
                    f"function {node.name} of {length} lines, more than {FUNCTION_MAX}",
                )


def check_plain_english(path: str, text: str) -> Iterator[Finding]:
    """In plain pages: no word or turn that has to be read twice."""
    listed = path in PLAIN or any(fnmatch.fnmatch(path, each) for each in PLAIN_IN)
    if not listed and not PLAIN_CODE.fullmatch(path):
        return
    said = dict(enumerate(text.splitlines(), 1))
    if path.endswith(".py"):
        said = {
            first + at: line
            for first, part in prose(path, text, comments=True)
            for at, line in enumerate(part.splitlines())
        }
    fenced = False
    for number, line in said.items():
        fenced ^= line.lstrip().startswith("```")
        printed = path.endswith(".md") and line.startswith("    ")
        if fenced or printed or line.rstrip().endswith(EXCEPTED):
            continue
        if path.endswith(".tla"):
            line = " ".join(REMARKS.findall(line))
        left = re.sub(r"`[^`]*`|\([^)]*\.md[^)]*\)|\banew[:-]|\w+\(\w+\)", "", line)
        patterns = TWICE | (PAGES_TWICE if path.endswith((".md", ".py")) else {})
        for pattern, instead in patterns.items():
            if found := re.search(pattern, left, re.IGNORECASE):
                yield Finding(number, f"{found.group()!r}: write {instead}")


def check_markers(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := MARKERS.search(line):
            yield Finding(number, f"marker {found.group()}; do it, or write the limit down")


def check_print(path: str, text: str) -> Iterator[Finding]:
    if PurePosixPath(path).parts[0] in PRINTING:
        return
    for node in python_nodes(path, text):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        ):
            yield Finding(node.lineno, "print in a library; return it or write an artifact")


def check_machine_paths(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := MACHINE_PATHS.search(line) or HOME_PATHS.search(line):
            yield Finding(number, f"path of one machine: {found.group()}")


def check_addresses(path: str, text: str) -> Iterator[Finding]:
    """Requirements name packages, not hosts: whoever installs brings the index."""
    pure = PurePosixPath(path)
    listed = pure.parts[0] == "requirements" or pure.suffix == ".lock"
    if not listed and path != "pyproject.toml":
        return
    for number, line in enumerate(text.splitlines(), 1):
        if ADDRESS in line and not (path == "pyproject.toml" and is_homepage(line)):
            yield Finding(number, "address among the requirements")


def is_homepage(line: str) -> bool:
    return re.match(r"(homepage|repository|documentation|changelog)\s*=", line, re.I) is not None


def check_last_newline(path: str, text: str) -> Iterator[Finding]:
    if text and not text.endswith("\n"):
        yield Finding(text.count("\n") + 1, "no newline at the end of the file")


def check_line_ends(path: str, text: str) -> Iterator[Finding]:
    if "\r\n" in text:
        yield Finding(text[: text.index("\r\n")].count("\n") + 1, "line ends with CR LF")


def check_benchmark(path: str, text: str) -> Iterator[Finding]:
    """`python -m benchmarks` lists the docstring's first line and calls `main`."""
    pure = PurePosixPath(path)
    if pure.parts[0] != "benchmarks" or pure.suffix != ".py" or pure.name.startswith("_"):
        return
    module = ast.parse(text)
    if not ast.get_docstring(module):
        yield Finding(1, "benchmark without a docstring that says what it compares")
    if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in module.body):
        yield Finding(1, "benchmark without main()")


CHECKS: tuple[Check, ...] = (
    check_line_length,
    check_function_length,
    check_markers,
    check_plain_english,
    check_print,
    check_machine_paths,
    check_addresses,
    check_last_newline,
    check_line_ends,
    check_benchmark,
)


# -- What prose names

_PATH = r"(?<!\]\()(?<![\w./~$}}>-])(?:{tops})/[\w./*-]*[\w*]"
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PROSE_SUFFIXES = {".md", ".tla", ".cfg", ".toml", ".sh", ".in"}


def prose(path: str, text: str, comments: bool = False) -> Iterator[tuple[int, str]]:
    """What people are told in a file, each part with the number of its first line."""
    if PurePosixPath(path).suffix in PROSE_SUFFIXES or path == "Makefile":
        yield 1, text
    elif path.endswith(".py"):
        for node in python_nodes(path, text):
            match node:
                # A docstring, or one under an assignment.
                case ast.Expr(value=ast.Constant(value=str(said))):
                    yield node.lineno, said
        # Tokens take seconds, so only where a comment may hold a path.
        source = io.StringIO(text if comments or re.search("#.*/", text) else "")
        for token in tokenize.generate_tokens(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


class Known(NamedTuple):
    """names: of files and folders. path: what looks like one from the root."""

    names: frozenset[str]
    path: re.Pattern[str]


def known_of(tracked: Collection[str]) -> Known:
    folders = {str(parent) for name in tracked for parent in PurePosixPath(name).parents}
    tops = "|".join(re.escape(name) for name in sorted(folders) if "/" not in name and name != ".")
    return Known(frozenset({*tracked, *folders}), re.compile(_PATH.format(tops=tops)))


def check_named_paths(path: str, text: str, known: Known) -> Iterator[Finding]:
    """A path from the root that prose names, and where a page's link leads, is there."""
    for first, said in prose(path, text):
        for found in known.path.finditer(said):
            # A star may close a comment of TLA+, and a dot the sentence before it.
            closes = said.startswith("*)", found.end() - 1)
            name = found.group().rstrip("*.") if closes else found.group()
            if name not in known.names and not fnmatch.filter(known.names, name):
                line = first + said[: found.start()].count("\n")
                yield Finding(line, f"names {name}, which is not there")
        for found in _LINK.finditer(said) if path.endswith(".md") else ():
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), found.group(1)))
            if name not in known.names:
                line = first + said[: found.start()].count("\n")
                yield Finding(line, f"links to {name}, which is not there")


_LOOKED_AT = ast.FunctionDef | ast.AsyncFunctionDef | ast.Call | ast.Expr


def python_nodes(path: str, text: str) -> Iterator[ast.AST]:
    if path.endswith(".py"):
        yield from _nodes(path, text)


@lru_cache(maxsize=1)
def _nodes(path: str, text: str) -> list[ast.AST]:
    return [node for node in ast.walk(ast.parse(text, path)) if isinstance(node, _LOOKED_AT)]


def tracked_files(root: Path) -> list[str]:
    """What git tracks; in an unpacked archive, everything but what set-up and runs leave behind."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True
        )
        names = set(listed.stdout.decode().split("\0")) - {""}
    else:
        every = (path.relative_to(root) for path in root.rglob("*"))
        names = {path.as_posix() for path in every if not UNTRACKED & set(path.parts)}
    return sorted(name for name in names if (root / name).is_file())


def read_text(path: Path) -> str | None:
    """The text, or None for binary files (and for what is no UTF-8)."""
    data = path.read_bytes()
    try:
        return None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def alike(tracked: Collection[str]) -> Iterator[str]:
    """Modules and packages of one folder whose names differ in their ending only: nobody remembers
    which is which."""
    seen: dict[tuple[str, str], str] = {}
    for path in sorted(tracked):
        folder, name = posixpath.split(path.removesuffix("/__init__.py").removesuffix(".py"))
        if not path.endswith(".py") or path.startswith("tests/"):
            continue
        other = seen.setdefault((folder, ENDING.sub("", name)), path)
        if other != path:
            yield f"{path}:1: named nearly as {other}"


def findings(root: Path) -> list[str]:
    tracked = tracked_files(root)
    found = list(alike(tracked))
    checks: tuple[Check, ...] = (*CHECKS, partial(check_named_paths, known=known_of(tracked)))
    for name in tracked:
        text = read_text(root / name)
        if text is not None:
            found += [
                f"{name}:{finding.line}: {finding.what}"
                for check in checks
                for finding in check(name, text)
            ]
    return found


def unlocked(pyproject: dict[str, object], locks: str) -> list[str]:
    """Dependencies of the project (and of its `dev` extra) that no lock pins."""
    project = pyproject["project"]
    assert isinstance(project, dict)
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {normal(name) for name in re.findall(r"^([\w.-]+)==", locks, re.MULTILINE)}
    names = [re.split(r"[\s<>=!~;\[]", requirement)[0] for requirement in wanted]
    return [name for name in names if normal(name) not in pinned]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
