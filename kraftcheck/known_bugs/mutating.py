"""`bugs mutants` on a screen: judge what is not judged, and list all."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs import mutant_trials, mutants
from kraftcheck.known_bugs.mutants import Mutant, Result
from kraftcheck.screen import Columns, Screen
from kraftcheck.specs import SPECS
from tla_utils import RunOptions, find_jar, find_java, read_manifest


def run(
    modules: Sequence[str],
    *,
    minutes: float,
    store: bool,
    jar: str | None = None,
    java: str | None = None,
    screen: Screen,
) -> int:
    """Judge mutants of these modules for so long, and list them; of none named, all.

    Returns 0: each is caught, refused or equivalent; 1: some are not; 2: some are not judged.
    Raises BadInput: there is no checkout to store in.
    """
    if store:
        artifacts.checkout()
    manifest = read_manifest(SPECS / "models.toml")
    results = mutants.load()
    wanted = [each for each in mutants.MODULES if not modules or each in modules]
    begin = monotonic()
    missing = mutant_trials.left(manifest, results)
    if minutes > 0:
        done = 0
        with screen.progress("mutants", missing) as meter:

            def told(mutant: Mutant, found: Result) -> bool:
                nonlocal done
                done += 1
                meter.update(done, f"{mutant.id}: {mutants.verdict_of(mutant, found)}")
                if store:
                    mutants.store(results)
                return monotonic() - begin < minutes * 60

            options = RunOptions(jar=find_jar(jar), java=find_java(java))
            mutant_trials.judge_all(manifest, wanted, options, results, told)
    lines = [line for line in mutants.rows(manifest, results) if _module(line[0]) in wanted]
    columns = Columns(mutants.HEAD, lines)
    screen.line(columns.head)
    for line in lines:
        screen.line(columns.row(line))
    judged = mutants.current(manifest, results)
    verdicts = {line[0]: line[2] for line in lines}
    screen.document(
        {
            id: {"verdict": verdicts[id], "found": msgspec.to_builtins(found)}
            for id, found in judged.items()
            if id in verdicts
        }
    )
    if mutants.NOT_JUDGED in verdicts.values():
        return exits.UNKNOWN
    is_open = verdicts.keys() & {*mutants.open_questions(manifest, results)}
    return exits.VIOLATED if is_open else exits.HOLDS


def _module(id: str) -> str:
    return id.partition(".")[0]
