"""`bugs campaigns` on a screen: a line for each campaign, and the figures of all that are done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs import campaigns, figures
from kraftcheck.known_bugs.campaigns import Asked, Found, Piece
from kraftcheck.known_bugs.entries import selected
from kraftcheck.known_bugs.oracles import Oracle
from kraftcheck.screen import Screen
from kraftcheck.specs import SPECS
from tla_utils import RunOptions, find_jar, find_java, read_manifest

HEAD = ("bug", "oracle", "runs to the first detection")


def run(
    ids: Sequence[str],
    *,
    oracles: Sequence[Oracle] = (),
    count: int,
    limit: int,
    minutes: float | None,
    store: bool,
    out: Path,
    jar: str | None = None,
    java: str | None = None,
    screen: Screen,
) -> int:
    """Measure what is not measured yet; returns 0 when all is done, 2 when time was up before.

    Raises UnknownBug, OutOfScope; BadInput: the folder is not ours, a file in it is damaged, or
    there is no checkout to store in.
    """
    if store or "tlc" in oracles:
        artifacts.checkout()
    entries = selected(ids)
    asked = Asked(
        oracles=tuple(oracles),
        campaigns=count,
        limit=limit,
        seconds=None if minutes is None else minutes * 60,
        out=artifacts.claim(out),
    )
    total, done = sum(1 for _ in campaigns.pieces(entries, asked)), 0
    with exits.resumable(), screen.progress("campaigns", total) as meter:

        def told(piece: Piece, found: Found) -> None:
            nonlocal done
            done += 1
            meter.update(done, f"{piece.entry.id}, seed {piece.seed}")

        complete = campaigns.measure(entries, asked, told)
    if "tlc" in oracles:
        manifest = read_manifest(SPECS / "models.toml")
        options = RunOptions(jar=find_jar(jar), java=find_java(java))

        def searched(model: str, said: str) -> None:
            screen.line(f"{model}: {said}")

        complete = campaigns.search(entries, manifest, options, None, searched) and complete
    fresh = campaigns.gathered(entries, asked)
    measured = campaigns.merged(figures.load(), fresh) if fresh else figures.load()
    figures.store(measured, out / figures.STORED.name)
    if store:
        figures.store(measured)
    rows = [
        (bug, oracle, figures.in_words(figure))
        for bug, found in fresh.items()
        for oracle, figure in found.items()
    ]
    screen.table(HEAD, rows)
    screen.line(f"{done} of {total} campaigns are done; {out / figures.STORED.name}")
    screen.document(msgspec.to_builtins(fresh))
    return exits.HOLDS if complete else exits.UNKNOWN
