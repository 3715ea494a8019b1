"""`make mutate-checkers`: change the checks point by point, and see which changes no test notices.

    python -m tests.mutation.search [--jobs N] [--minutes M] [--each N] [--seed S] [--again]
                                    [MUTANT ...]

MUTANT: a path, or the beginning of a mutant's name (of a function: all of its mutants); default:
all of targets.toml. --each: so many mutants of each module instead of those of the table. --seed:
other mutants than without. --again: also those that are known.

Each mutant stands in a copy of the tree, where those of its module's tests (covering.py) that call
its function run until one fails or the time is up. What was found is kept in build/mutation and
not asked again while the function is the same, and the test that noticed it; or, where none did,
all tests of its module, or its reason. What no test notices needs a test, or a reason in
reasons.toml.

Exit codes: 0 every mutant is noticed or has a reason; 1 one is not and has none, or a reason is out
of place; 2 some were not judged; 3 tests fail without a mutation, or a name is none.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

import click
import msgspec

from kraftcheck import exits
from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput
from kraftcheck.screen import Columns, Screen
from tests.mutation import covering, reasons
from tests.mutation.mutants import Mutant, chosen, mutants
from tests.mutation.overlay import Overlay, Ran, overlay
from tests.mutation.reasons import Reason

ROOT: Final = Path(__file__).resolve().parents[2]
MEMORY_BYTES: Final = 6 << 30
"""Of each process: a mutant may never stop to append."""
SLOWER: Final = 4

BASELINE = "baseline.json"
KILLED, TIMEOUT, SURVIVED = "killed", "timeout", "survived"
REASONED, OPEN, NOT_JUDGED = "has a reason", "OPEN", "not judged"


class Settings(NamedTuple):
    """root: of the tree. In it table, reasons and what is known; store: a folder for what the tests
    call without a mutation.

    patience_s: of a processor, which a mutant's tests may take beyond SLOWER times what they took
    without it.
    """

    root: Path = ROOT
    table: str = "tests/mutation/targets.toml"
    reasons: str = "tests/mutation/reasons.toml"
    results: str = "build/mutation/results.json"
    store: str = "build/mutation"
    patience_s: float = 20.0
    jobs: int = 1
    minutes: float | None = None
    each: int | None = None
    seed: int | None = None
    again: bool = False
    named: tuple[str, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """change: as Mutant.change has it. outcome: killed, timeout or survived. by: the test that
    failed. function: digest of what was judged; tests: of that test, or of the files of all.
    """

    change: str
    outcome: str
    by: str
    cpu_s: float
    function: str
    tests: str


class Baseline(msgspec.Struct, frozen=True):
    """A test file without a mutation. digest: of the file and of the tree. seconds: of each test.
    calls: by function, the tests that call it; "" stands for all of them.
    """

    digest: str
    seconds: dict[str, float]
    calls: dict[str, list[str]]

    def of(self, function: str) -> list[str]:
        """The tests that call it, the quickest first."""
        calling = self.calls.get(function, [])
        tests = self.seconds if "" in calling else calling
        return sorted(tests, key=self.seconds.__getitem__)


Kept = TypeVar("Kept")


class Asked(NamedTuple):
    """A mutant, and the tests to ask. tests: digest of each file."""

    mutant: Mutant
    tests: dict[str, str]
    root: Path

    def witnesses(self, by: str) -> str:
        """Digest of what an answer rests on: the test that failed, or the files of all."""
        return covering.digest_of_test(self.root, by) or "".join(self.tests.values())


def run(settings: Settings, screen: Screen) -> int:
    """Judge what is not known, and list what was found. Raises BadInput."""
    given = reasons.read(settings.root / settings.reasons)
    every: list[Mutant] = []
    asked = list(_asked(settings, every))
    known = _load(settings.root / settings.results, dict[str, Result]) or {}
    left = [each for each in asked if settings.again or _known(each, known, given) is None]
    if left:
        _judge(settings, left, known, screen)
    return _tell(settings, asked, known, given, reasons.misplaced(given, every), screen)


def _asked(settings: Settings, every: list[Mutant]) -> Iterator[Asked]:
    """What is to be judged; into `every` go all mutants that there are."""
    met = dict.fromkeys(settings.named, False)
    for target in covering.targets(settings.root, settings.root / settings.table):
        source = (settings.root / target.path).read_text("utf-8")
        there = mutants(target.path, source)
        every += there
        tests = {file: covering.digest(settings.root, (file,)) for file in target.tests}
        count = target.mutants if settings.each is None else settings.each
        first = target.first if settings.seed is None else f"{target.first}#{settings.seed}"
        taken = {mutant.id for mutant in chosen(there, count, first)}
        for mutant in there:
            names = [name for name in settings.named if _names(name, mutant.id)]
            met.update(dict.fromkeys(names, True))
            # Whoever names a function, or a mutant in full, wants it, chosen or not.
            wanted = any("::" in name for name in names)
            if wanted or (mutant.id in taken and (names or not settings.named)):
                yield Asked(mutant, tests, settings.root)
    if strange := [name for name, found in met.items() if not found]:
        raise BadInput(f"{strange[0]} is no mutant, and no module of {settings.table}")


def _names(name: str, mutant: str) -> bool:
    """In full, or by how it begins."""
    return mutant == name if "#" in name else mutant.startswith(name)


def _known(asked: Asked, known: dict[str, Result], given: Mapping[str, Reason]) -> Result | None:
    """What was found and holds still. A reason holds while its function is the same; whether a test
    has made it needless is asked with --again.
    """
    found = known.get(asked.mutant.id)
    if found is None or (found.change, found.function) != (
        asked.mutant.change,
        asked.mutant.digest,
    ):
        return None
    has_reason = found.outcome == SURVIVED and asked.mutant.id in given
    return found if has_reason or found.tests == asked.witnesses(found.by) else None


# -- Judging


def _judge(
    settings: Settings, left: Sequence[Asked], known: dict[str, Result], screen: Screen
) -> None:
    begin, stop = monotonic(), Event()
    free: SimpleQueue[Overlay] = SimpleQueue()
    with ExitStack() as stack:
        for _ in range(settings.jobs):
            free.put(stack.enter_context(overlay(settings.root)))
        pool = stack.enter_context(ThreadPoolExecutor(settings.jobs))
        baseline = _baseline(settings, left, free, pool, screen)
        meter = stack.enter_context(screen.progress("mutants", len(left)))

        def judged(asked: Asked) -> Result | None:
            late = settings.minutes is not None and monotonic() - begin > settings.minutes * 60
            if stop.is_set() or late:
                return None
            with _taken(free) as copy:
                return _result(copy, asked, baseline, settings.patience_s)

        futures = {pool.submit(judged, asked): asked.mutant.id for asked in left}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                if (result := future.result()) is not None and not stop.is_set():
                    known[futures[future]] = result
                    _store(settings.root / settings.results, known)
                    meter.update(done, f"{futures[future]}: {result.outcome}")
        finally:
            stop.set()


def _result(
    copy: Overlay, asked: Asked, baseline: dict[str, Baseline], patience_s: float
) -> Result | None:
    """None: the run was ended by others."""
    last = Ran(0, "", 0.0)
    function = f"{asked.mutant.path}::{asked.mutant.function}"
    files = [(baseline[file].of(function), baseline[file].seconds) for file in asked.tests]
    cost = {tuple(tests): sum(map(seconds.__getitem__, tests)) for tests, seconds in files if tests}
    if cost:
        ordered = [test for tests in sorted(cost, key=cost.__getitem__) for test in tests]
        with copy.mutated(asked.mutant):
            last = copy.pytest(ordered, patience_s + SLOWER * sum(cost.values()))
    if last.killed_by_others:
        return None
    if last.failed and not copy.passes(last.failed):
        raise BadInput(f"{last.failed} fails alone without a mutation; mend that first")
    outcome = TIMEOUT if last.code is None else SURVIVED if last.code == 0 else KILLED
    by = last.failed or ("before any test" if outcome == KILLED else "")
    return Result(
        change=asked.mutant.change,
        outcome=outcome,
        by=by,
        cpu_s=round(last.cpu_s, 1),
        function=asked.mutant.digest,
        tests=asked.witnesses(by),
    )


def _baseline(
    settings: Settings,
    left: Sequence[Asked],
    free: SimpleQueue[Overlay],
    pool: ThreadPoolExecutor,
    screen: Screen,
) -> dict[str, Baseline]:
    """What the tests call, and how long they take. Raises BadInput: one fails."""
    place = settings.root / settings.store / BASELINE
    found = _load(place, dict[str, Baseline]) or {}
    with _taken(free) as copy:
        tree = covering.digest(copy.root, tuple(_what_tests_need(copy.root)))
    covers = {file for each in left for file in each.tests}
    digests = {file: tree + covering.digest(settings.root, (file,)) for file in sorted(covers)}
    missing = [
        file
        for file, digest in digests.items()
        if file not in found or found[file].digest != digest
    ]
    modules = [of.path for of in covering.targets(settings.root, settings.root / settings.table)]

    def recorded(file: str) -> tuple[str, Baseline | str]:
        """Of a file that fails: which test does."""
        with _taken(free) as copy:
            ran, calls = copy.recorded(file, modules)
        if ran.code != 0:
            return file, ran.failed or file
        of = {function: sorted(tests) for function, tests in calls.of.items()}
        return file, Baseline(digests[file], calls.seconds, of)

    failed: list[str] = []
    with screen.progress("test files without a mutation", len(missing)) as meter:
        for done, future in enumerate(
            as_completed(pool.submit(recorded, each) for each in missing)
        ):
            file, told = future.result()
            if isinstance(told, str):
                failed.append(told)
            else:
                found[file] = told
                _store(place, found)
            meter.update(done + 1, file)
    if failed:
        raise BadInput(f"{', '.join(failed)} fails without a mutation; mend that first")
    return {file: found[file] for file in digests}


@contextmanager
def _taken(free: SimpleQueue[Overlay]) -> Iterator[Overlay]:
    copy = free.get()
    try:
        yield copy
    finally:
        free.put(copy)


def _what_tests_need(root: Path) -> Iterator[str]:
    """All that is no test and no prose: when it changes, tests may fail that did not."""
    for path in root.rglob("*"):
        is_test = path.name.startswith("test_") or path.parent == root / "tests/mutation"
        if path.is_file() and not is_test and path.suffix not in (".pyc", ".md"):
            yield path.relative_to(root).as_posix()


def _load(path: Path, kind: type[Kept]) -> Kept | None:
    """What an earlier run has left; None if it is of no use."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _store(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


# -- Telling


def _tell(
    settings: Settings,
    asked: Sequence[Asked],
    known: dict[str, Result],
    given: dict[str, Reason],
    misplaced: Sequence[str],
    screen: Screen,
) -> int:
    found = {each.mutant.id: _known(each, known, given) for each in asked}
    outcomes = {id: _outcome(id, result, given) for id, result in found.items()}
    by_module: dict[str, list[str]] = {}
    for each in asked:
        by_module.setdefault(each.mutant.path, []).append(outcomes[each.mutant.id])
    heads = (KILLED, TIMEOUT, REASONED, OPEN, NOT_JUDGED)
    rows = [(path, len(of), *(of.count(head) for head in heads)) for path, of in by_module.items()]
    total = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    rows.append(("all", *total))
    columns = Columns(("module", ">mutants", *(f">{head}" for head in heads)), rows)
    for line in (columns.head, *(columns.row(row) for row in rows), ""):
        screen.line(line)
    for each in asked:
        if outcomes[each.mutant.id] == OPEN:
            screen.line(f"survived: {each.mutant.id}")
            screen.line(f"  {each.mutant.path}:{each.mutant.line}: {each.mutant.change}")
    needless = [id for id in given if outcomes.get(id) in (KILLED, TIMEOUT)]
    wrong = [*misplaced, *(f"{id}: a test notices it" for id in needless)]
    for line in wrong:
        screen.line(f"reason out of place: {line}")
    cpu_s = sum(result.cpu_s for result in found.values() if result is not None)
    screen.line(f"{total[0]} mutants, {cpu_s / 60:.0f} minutes of CPU")
    screen.document({"outcomes": outcomes, "reasons out of place": wrong, "cpu_s": round(cpu_s)})
    if OPEN in outcomes.values() or wrong:
        return exits.VIOLATED
    return exits.UNKNOWN if NOT_JUDGED in outcomes.values() else exits.HOLDS


def _outcome(id: str, result: Result | None, given: dict[str, Reason]) -> str:
    if result is None:
        return NOT_JUDGED
    if result.outcome == SURVIVED:
        return REASONED if id in given else OPEN
    return result.outcome


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.argument("named", nargs=-1, metavar="[MUTANT]...")
@click.option("--jobs", type=click.IntRange(1), default=1)
@click.option("--minutes", type=click.FloatRange(0))
@click.option("--each", type=click.IntRange(1))
@click.option("--seed", type=int)
@click.option("--again", is_flag=True)
@click.option("--json", is_flag=True)
def command(json: bool, **given: Any) -> int:
    # Inherited by the tests.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    return run(Settings(**given), Screen(json=json))


if __name__ == "__main__":
    sys.exit(exits.guarded(lambda: command.main(standalone_mode=False)))
