"""`cover`: every edge of TLC's graphs on the reference, refusals, and what campaigns have seen.

For each graph: TLC dumps it; every move of the reference from every state is matched with an edge
(traces/cover/matching.py); walks that take every edge are found and driven (tla_utils/covering.py,
traces/cover/driving.py); and what the graph does not have is attempted (traces/cover/refusals.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs.own_rules import substitution
from kraftcheck.reference.bugs.bug import BASES, Bug
from kraftcheck.reference.bugs.probing import Consulted, probed
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.cover import campaigns
from kraftcheck.traces.cover.driving import Driven, drive, script, way_to
from kraftcheck.traces.cover.life_cycles import drawn
from kraftcheck.traces.cover.matching import Matcher, Mismatch
from kraftcheck.traces.cover.models import (
    Dumped,
    Graph,
    dump_graph,
    of_scenario,
    read_covers,
    select,
)
from kraftcheck.traces.cover.refusals import KINDS, Refusals, refuse
from kraftcheck.traces.cover.sieve import Sieve
from tla_utils import Jar, Java, find_jar, find_java
from tla_utils.covering import Cover, cover_edges

COVER = "cover.json"
DEFAULT_TIER = "small"
CAMPAIGN_TIER = "campaign"
SHOWN = 20
HEADS = (
    *("graph", ">states", ">edges", ">paths", ">moves", ">bound", ">gap", ">seconds"),
    *(">edges/s", ">refusals", ">wrong", "result"),
)


class Tools(NamedTuple):
    jar: Jar
    java: Java


@dataclass(frozen=True)
class Covered:
    """What was found in one graph."""

    dumped: Dumped
    matcher: Matcher
    cover: Cover | None
    driven: Driven | None
    refusals: Refusals | None
    seconds: dict[str, float]

    @property
    def mismatches(self) -> list[Mismatch]:
        return [*self.matcher.mismatches, *(self.driven.mismatches if self.driven else ())]

    @property
    def wrong(self) -> int:
        return len(self.mismatches) + (len(self.refusals.rejected) if self.refusals else 0)

    @property
    def code(self) -> int:
        if self.wrong:
            return exits.VIOLATED
        complete = self.driven is not None and self.driven.edges == self.dumped.model.edges
        unknown = not complete or bool(self.refusals and self.refusals.unknown)
        return exits.UNKNOWN if unknown else exits.HOLDS

    @property
    def edges_per_second(self) -> float:
        """Edges covered in each second of everything but refusals, TLC included."""
        edges = self.driven.edges if self.driven else 0
        return edges / sum(s for stage, s in self.seconds.items() if stage != "refusals")


def cover(
    specs: Path,
    *,
    names: Sequence[str] = (),
    tiers: Sequence[str] = (),
    bug_id: str | None = None,
    rules: Path | None = None,
    folder: Path | None = None,
    fill: bool = False,
    mutants: int = 100_000,
    max_edges: int = 5_000_000,
    memory_mb: int = 8192,
    jar: str | None = None,
    java: str | None = None,
    out: Path | None = None,
    pictures: Path | None = None,
    screen: Screen,
) -> int:
    """Cover the graphs, print a line for each, write cover.json; returns the exit code."""
    if pictures is not None:
        return _draw(specs, pictures, Tools(find_jar(jar), find_java(java)), screen)
    if fill and folder is None:
        raise exits.BadInput("--fill needs --campaign: what is missing is what its runs did not do")
    covers = read_covers(specs)
    of_runs = folder and any(model.tier == CAMPAIGN_TIER for model in covers.values())
    default = [CAMPAIGN_TIER if of_runs else DEFAULT_TIER]
    models = select(covers, names, tiers or ([] if names else default))
    found = substitution(bug_id, rules)
    replacement, models, consulted = _with_bug(found, models, chosen=bool(names))
    if folder is not None:
        models = _of_runs(models, folder)
    tools = Tools(find_jar(jar), find_java(java))
    if out is not None:
        artifacts.claim(out)
    begin = monotonic()
    columns = Columns(HEADS, [[m.name, m.states, m.edges, *[""] * 9] for m in models])
    screen.line(columns.head)
    done = []
    for model in models:
        with screen.progress(f"{model.name}: graph", 1):
            dumped = dump_graph(
                model,
                specs,
                replacement=replacement,
                max_edges=max_edges,
                memory_mb=memory_mb,
                note=screen.note,
                jar=tools.jar,
                java=tools.java,
            )
        covered = cover_graph(dumped, mutants=mutants, screen=screen, drive_all=folder is None)
        done.append(covered)
        screen.line(columns.row(_cells(covered)))
        for line in _complaints(covered)[:SHOWN]:
            screen.line(f"  {line}")
    document = _document(done, monotonic() - begin, tools)
    code = exits.worst(each.code for each in done)
    if folder is not None:
        screen.note(f"{folder}: looking for the graphs' steps")
        seen = campaigns.read_seen(folder, sieve=Sieve([each.matcher for each in done]))
        code, document["campaign"] = _campaign(seen, done, fill, screen)
        document["campaign"]["folder"] = str(folder)
    document["never_met"] = never = _never(consulted) if found else ""
    code = exits.worst([code, exits.UNKNOWN]) if never else code
    document["verdict"] = exits.VERDICTS[code]
    if out is not None:
        artifacts.write_json(out / COVER, document)
    screen.line(_summary(done, monotonic() - begin) + (f"\nunknown: {never}" if never else ""))
    screen.document(document)
    return code


def _draw(specs: Path, file: Path, tools: Tools, screen: Screen) -> int:
    """Writes the page of life cycles from the graphs that it names."""
    if not file.parent.is_dir():
        raise exits.BadInput(f"there is no folder {file.parent} for the page {file.name}")
    page = drawn(specs, jar=tools.jar, java=tools.java, note=screen.note)
    file.write_text(page, encoding="utf-8")
    screen.line(f"{page.count('```mermaid')} pictures in {file}")
    return exits.HOLDS


def _with_bug(
    found: Bug | None, models: list[Graph], *, chosen: bool
) -> tuple[type | None, list[Graph], Consulted]:
    """Give what replaces the reference's rules, and the graphs of the bug's protocol.

    Also where the answers of the replacement are counted.

    Raises BadInput for a bug that replaces nothing, and for graphs chosen by name that
    are of the other protocol.
    """
    consulted = Consulted()
    if found is None:
        return None, models, consulted
    if found.replacement is None:
        why = found.scope or "it is a configuration"
        raise exits.BadInput(f"{found.id} cannot be replayed: {why}")
    fitting = [model for model in models if model.protocol == found.protocol]
    if not fitting or (chosen and fitting != models):
        raise exits.BadInput(f"{found.id} is a bug of the {found.protocol}: choose graphs of it")
    base = found.base
    assert base is not None
    return probed(found.replacement, BASES[base].names, base, consulted), fitting, consulted


def _never(consulted: Consulted) -> str:
    """Name what the graphs say nothing of.

    These are rules that were not asked, or always answered as the correct ones do; empty where some
    answer differed.
    """
    if consulted.effective:
        return ""
    asked = ", ".join(f"{name} {times:,} times" for name, times in consulted.asked.items() if times)
    said = f"asked {asked}, always answered as the correct rules"
    if not asked:
        said = f"nobody asked {', '.join(consulted.asked)}"
    return f"{said}: nothing is said of the change"


def _of_runs(models: list[Graph], folder: Path) -> list[Graph]:
    """The graphs that these runs can have seen. Raises BadInput if there are none."""
    scenario, _ = campaigns.runs_of(folder)
    fitting = of_scenario(models, scenario)
    if not fitting:
        names = ", ".join(model.name for model in models)
        raise exits.BadInput(
            f"the runs in {folder} are of scenario {scenario}: they can see nothing of {names}"
        )
    return fitting


def cover_graph(dumped: Dumped, *, mutants: int, screen: Screen, drive_all: bool = True) -> Covered:
    """Match, cover, drive and refuse. Without `drive_all`, only match: what a campaign needs.

    Raises ToolError if this process becomes larger than the graph may make it.
    """
    seconds = {"tlc": dumped.tlc_seconds, "read": dumped.read_seconds}
    begin, name = monotonic(), dumped.model.name
    matcher = Matcher(dumped.dump, dumped.book)
    with screen.progress(f"{name}: matching", 1):
        matcher.explore(lambda states, edges: dumped.look_at_memory(states, edges, "matched"))
    seconds["match"] = monotonic() - begin
    if not drive_all:
        return Covered(dumped, matcher, None, None, None, seconds)
    cover, driven = None, None
    if not matcher.mismatches:
        begin = monotonic()
        start = dumped.dump.initial[0]
        ends = matcher.moves.source, matcher.moves.target
        with screen.progress(f"{name}: walks", 1):
            cover = cover_edges(len(matcher.states), *ends, start)
        seconds["walks"] = monotonic() - begin
        dumped.look_at_memory(len(matcher.states), len(matcher.moves.source), "in walks")
        begin = monotonic()
        with screen.progress(f"{name}: edges", dumped.model.edges) as meter:
            driven = drive(matcher, cover.walks, meter.update)
        seconds["drive"] = monotonic() - begin
    refusals = None
    if mutants >= 0 and not dumped.book.graph.turns:
        begin = monotonic()
        with screen.progress(f"{name}: attempting what the graph does not have", 1):
            refusals = refuse(matcher, mutants)
        seconds["refusals"] = monotonic() - begin
    return Covered(dumped, matcher, cover, driven, refusals, seconds)


def _cells(covered: Covered) -> list[object]:
    model, cover, refusals = covered.dumped.model, covered.cover, covered.refusals
    return [
        *(model.name, model.states, model.edges),
        *((len(cover.walks), cover.moves, cover.bound, cover.gap) if cover else ("",) * 4),
        sum(covered.seconds.values()),
        round(covered.edges_per_second) if covered.driven else "",
        refusals.attempts if refusals else "",
        covered.wrong,
        exits.VERDICTS[covered.code] if covered.driven or covered.wrong else "matched",
    ]


def _complaints(covered: Covered) -> list[str]:
    lines = [f"{m.kind}: {m.action}, {_at(m)}{m.told}" for m in covered.mismatches]
    if covered.matcher.mismatches and covered.matcher.mismatches[0].state >= 0:
        way = way_to(covered.matcher, covered.matcher.mismatches[0].state)
        lines.insert(1, f"  reached by: {'; '.join(way) or 'no move, it is the first state'}")
    if covered.refusals:
        lines += [f"not allowed by the spec: {told}" for told in covered.refusals.rejected]
        if covered.refusals.unknown:
            lines.append(f"TLC could not judge {covered.refusals.unknown} attempts")
    if len(lines) > SHOWN:
        lines.insert(SHOWN - 1, f"... and {len(lines) - SHOWN + 1} more")
    return lines


def _at(mismatch: Mismatch) -> str:
    return f"state {mismatch.state}: " if mismatch.state >= 0 else ""


def _document(done: Sequence[Covered], seconds: float, tools: Tools) -> dict[str, Any]:
    return {
        "verdict": "",
        "seconds": round(seconds, 3),
        "tlc": tools.jar.version,
        "java": tools.java.version,
        "graphs": [as_json(each) for each in done],
    }


def as_json(covered: Covered) -> dict[str, Any]:
    """What is known of one graph; counts, and seconds by stage."""
    model, matcher, cover = covered.dumped.model, covered.matcher, covered.cover
    actions = Counter(matcher.moves.steps[step].action for step in matcher.moves.step)
    known: dict[str, Any] = {
        "graph": model.name,
        "claim": model.claim,
        "tier": model.tier,
        "states": model.states,
        "edges": model.edges,
        "edges_by_action": dict(sorted(actions.items())),
        "local_steps": len(matcher.moves.steps),
        "mismatches": len(covered.mismatches),
        "complaints": _complaints(covered)[:SHOWN],
        "seconds": {stage: round(s, 3) for stage, s in covered.seconds.items()},
    }
    if cover and covered.driven:
        known |= {
            "paths": len(cover.walks),
            "moves": cover.moves,
            "driven_moves": covered.driven.moves,
            "lower_bound": cover.bound,
            "gap": cover.gap,
            "edges_covered": covered.driven.edges,
            "edges_per_second": round(covered.edges_per_second, 1),
            "verdict": exits.VERDICTS[covered.code],
        }
    if covered.refusals:
        found = covered.refusals
        known["refusals"] = {
            "attempts": found.attempts,
            **{kind: found.total(kind) for kind in KINDS},
            "errors": dict(sorted(found.errors.items())),
            "row_unchanged": found.unchanged,
            "mutants_skipped": found.skipped,
            "rejected": len(found.rejected),
            "unknown": found.unknown,
            "by_action": {a: dict(sorted(c.items())) for a, c in sorted(found.kinds.items())},
        }
    return known


def _summary(done: Sequence[Covered], seconds: float) -> str:
    edges = sum(each.driven.edges for each in done if each.driven)
    matched = sum(each.dumped.model.edges for each in done)
    wrong = sum(each.wrong for each in done)
    covered = f"{edges} edges covered" if edges else f"{matched} edges matched"
    return f"{len(done)} graphs, {covered}, {wrong} wrong, {seconds:.1f} s"


def _campaign(
    seen: campaigns.Seen, done: Sequence[Covered], fill: bool, screen: Screen
) -> tuple[int, dict[str, Any]]:
    """What runs have seen of the graphs, and the missing ones run, if asked."""
    document: dict[str, Any] = {"runs": seen.runs, "graphs": []}
    codes = [exits.VIOLATED if each.wrong else exits.HOLDS for each in done]
    for each in done:
        share = campaigns.share_of(each.matcher, seen)
        name = each.dumped.model.name
        edges, of_edges = share.edges
        screen.line(
            f"{name}: {share.seen} of {share.total} local steps seen in {seen.runs} runs, "
            f"{edges} of {of_edges} edges"
        )
        for line in _by_action(share):
            screen.line(line)
        known = share.as_json() | {"graph": name}
        if fill and share.missing:
            known["fill"], wrong = _filled(each, share, screen)
            codes.append(exits.VIOLATED if wrong else exits.HOLDS)
        document["graphs"].append(known)
    return exits.worst(codes), document


def _filled(
    covered: Covered, share: campaigns.Share, screen: Screen
) -> tuple[dict[str, Any], list[Mismatch]]:
    """Runs what was not seen: what it took, and what was wrong."""
    begin = monotonic()
    matcher = covered.matcher
    cover, driven = campaigns.fill(matcher, share, covered.dumped.dump.initial[0])
    edges = share.edges[1] - share.edges[0]
    screen.line(
        f"{covered.dumped.model.name}: the {len(share.missing)} missing ones, of {edges} edges, "
        f"run in {len(cover.walks)} paths of {driven.moves} moves (gap {cover.gap}), "
        f"{len(driven.mismatches)} mismatches"
    )
    return {
        "local_steps": len(share.missing),
        "edges": edges,
        "paths": len(cover.walks),
        "moves": driven.moves,
        "lower_bound": cover.bound,
        "gap": cover.gap,
        "mismatches": len(driven.mismatches),
        "seconds": round(monotonic() - begin, 3),
        "scripts": [script(matcher, walk) for walk in cover.walks[:SHOWN]],
    }, driven.mismatches


def _by_action(share: campaigns.Share) -> list[str]:
    """What was seen of each action, in lines; then how it grew."""
    rows = [
        [f"  {action}", *counts, *share.edges_by_action[action]]
        for action, counts in share.by_action.items()
    ]
    columns = Columns(("  action", ">steps seen", ">of", ">edges seen", ">of"), rows)
    grown = ", ".join(f"{edges} after {runs}" for runs, _, edges in share.growth)
    return [columns.head, *map(columns.row, rows), f"  edges seen by runs: {grown}"]
