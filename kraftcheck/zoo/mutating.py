"""`bugs mutants` on a screen: judge what is not judged, and list all."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import msgspec

from kraftcheck import exits
from kraftcheck.screen import Columns, Screen
from kraftcheck.specs import SPECS
from kraftcheck.zoo import mutants
from kraftcheck.zoo.mutants import Mutant, Result
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
    """Judge mutants for so long, and list all; returns 0 when each is judged, else 2."""
    manifest = read_manifest(SPECS / "models.toml")
    results = mutants.load()
    begin = monotonic()
    missing = [id for id, known in mutants.current(manifest, results).items() if known is None]
    if minutes > 0:
        done = 0
        with screen.progress("mutants", len(missing)) as meter:

            def told(mutant: Mutant, found: Result) -> bool:
                nonlocal done
                done += 1
                meter.update(done, f"{mutant.id}: {found.verdict}")
                if store:
                    mutants.store(results)
                return monotonic() - begin < minutes * 60

            options = RunOptions(jar=find_jar(jar), java=find_java(java))
            wanted = [each for each in mutants.MODELS if not modules or each in modules]
            mutants.judge_all(manifest, wanted, options, results, told)
    lines = mutants.rows(manifest, results)
    columns = Columns(mutants.HEAD, lines)
    screen.line(columns.head)
    for line in lines:
        screen.line(columns.row(line))
    judged = mutants.current(manifest, results)
    document = {id: msgspec.to_builtins(found) for id, found in judged.items()}
    screen.document(document)
    return exits.HOLDS if None not in judged.values() else exits.UNKNOWN
