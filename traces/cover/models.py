"""Read the list of graphs that can be covered (folder `cover` of a protocol), and dump them.

TLC dumps them.

Laws of this file: the list is read strictly, as the manifest of models is; a graph whose counts are
not those that the list states is no evidence and an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from kraftcheck.osutil.files import read_toml
from kraftcheck.reference.protocols import PROTOCOLS as ALL, folder_of, parts_of
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.rulebook import MODULE as MODULE, Graph as Graph, RuleBook
from tla_utils import Jar, Java, TlcJob, ToolError, run_tlc
from tla_utils.dump import DEFAULT_LIMITS, Dump, Limits, read_dump
from tla_utils.errors import nearest
from tla_utils.runner import ModuleText

LIST: Final = "covers.toml"
KEYS: Final = frozenset({each.name for each in fields(Graph)} - {"name"} | {"like"})
OWN: Final = ("tier", "claim", "states", "edges", "like")
"""The keys that a graph does not take over from the one that it is like; of tables that are merged
it says what is different."""
MERGED: Final = ("constants", "bounds")


@dataclass(frozen=True, slots=True)
class Dumped:
    """A graph with its rule book.

    It has the seconds that TLC and the reader took, and how large the graph may become.
    """

    model: Graph
    dump: Dump
    book: RuleBook
    tlc_seconds: float
    read_seconds: float
    limits: Limits = DEFAULT_LIMITS

    def look_at_memory(self, states: int, edges: int, done: str) -> None:
        """Raises ToolError if this process has become too large by now, with so much done."""
        self.limits.look_at_memory(self.model.name, states, edges, done)


def read_covers(specs: Path = SPECS) -> dict[str, Graph]:
    """The models by name, in their order: those of the folder, or of all protocols in it.

    Raises ToolError for what is not in order.
    """
    places = dict.fromkeys([specs / folder_of(each.name) / "cover" / LIST for each in ALL])
    of_all = [path for path in places if path.is_file()]
    models = [model for path in of_all or [specs / "cover" / LIST] for model in _read(path)]
    named = {model.name: model for model in models}
    if len(named) != len(models):
        raise ToolError(f"{specs} gives one name to two graphs")
    return named


def _read(path: Path) -> list[Graph]:
    try:
        tables = read_toml(path)
    except OSError as error:
        raise ToolError(f"the list {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"{path} is no TOML: {error}") from error
    if not tables or not all(isinstance(table, dict) for table in tables.values()):
        raise ToolError(f"{path} is not a list of graphs: write each as a table [NAME]")
    protocols = [each.name for each in ALL]
    found = []
    for name in tables:
        table = _whole(path, name, tables)
        if (protocol := table.get("protocol", "")) and protocol not in protocols:
            raise ToolError(f"{path}: the graph {name} is of an unknown protocol {protocol}")
        try:
            found.append(msgspec.convert({"name": name, **table}, Graph))
        except msgspec.ValidationError as error:
            raise ToolError(f"{path}: the graph {name}: {error}") from None
    return found


def _whole(
    path: Path, name: str, tables: Mapping[str, Any], behind: Sequence[str] = ()
) -> dict[str, Any]:
    """What a table says, with what it takes over from the one that it is like."""
    table, of = tables[name], f"{path}: the graph {name}"
    for key in table:
        if key not in KEYS:
            raise ToolError(f"{of} has an unknown key {key}{nearest(key, KEYS)}")
    base = table.get("like")
    if base is None:
        return dict(table)
    if base not in tables:
        raise ToolError(f"{of}: there is no graph {base!r} to be like{nearest(str(base), tables)}")
    if base in (*behind, name):
        raise ToolError(f"{of}: `like` goes round in a circle")
    taken = _whole(path, base, tables, (*behind, name))
    whole: dict[str, Any] = {key: value for key, value in taken.items() if key not in OWN} | table
    del whole["like"]
    for key in MERGED:
        whole[key] = taken.get(key, {}) | table.get(key, {})
    return whole


def of_scenario(models: Sequence[Graph], scenario: str) -> list[Graph]:
    """The graphs whose protocol runs of this scenario follow, or one of its components does."""
    names = {protocol.name for protocol in parts_of(scenario)}
    return [model for model in models if model.protocol in names]


def select(models: Mapping[str, Graph], names: Sequence[str], tiers: Sequence[str]) -> list[Graph]:
    """The models with these names or of these tiers. Raises ToolError for a name that none has."""
    known_tiers = {model.tier for model in models.values()}
    for name in names:
        if name not in models:
            near = get_close_matches(name, models, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(models)}"
            raise ToolError(f"there is no graph {name!r}; {hint}")
    for tier in tiers:
        if tier not in known_tiers:
            raise ToolError(f"no graph is of tier {tier!r}; there are {', '.join(known_tiers)}")
    return [m for m in models.values() if m.name in names or m.tier in tiers]


def dump_graph(
    model: Graph,
    specs: Path = SPECS,
    *,
    replacement: type | None = None,
    max_edges: int = 5_000_000,
    memory_mb: int = 8192,
    jar: Jar | None = None,
    java: Java | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Dumped:
    """Lets TLC dump the graph and reads it.

    replacement: rules or handlers of a bug that the reference is to have while it is covered, of
    the graph's protocol. memory_mb: how large this process may become, in MiB.

    Raises ToolError: TLC could not finish, the graph has other counts than the list states or is
    larger than `max_edges` allows.
    """
    book = rule_book(model, replacement)
    lower = f"the budgets of {model.name} in {LIST}, "
    lower += "or allow more with --max-edges and --max-memory"
    if model.edges > max_edges:
        raise ToolError(
            f"the graph {model.name} has {model.edges} edges, more than {max_edges}: lower {lower}"
        )
    with tempfile.TemporaryDirectory(prefix="cover-") as folder:
        path = Path(folder) / f"{model.name}.dot"
        note(f"{model.name}: TLC dumps the graph")
        job = TlcJob(
            module=ModuleText(MODULE, twin_of(book, specs)),
            cfg=book.cfg(),
            libraries=libraries_of(model, specs),
            heap_mb=model.heap_mb,
            timeout_s=model.timeout_s,
            deadlock=False,
            dump=path,
            long=model.states >= 2000,
            jar=jar,
            java=java,
        )
        result = run_tlc(job)
        if not result.complete or result.verdict != "holds" or result.generated is None:
            reached = "an unknown number of" if result.distinct is None else result.distinct
            raise ToolError(
                f"TLC did not finish the graph {model.name} ({result.reason}) after {reached} "
                f"states: lower its budgets in {LIST}, or raise heap_mb or timeout_s there"
            )
        begin = monotonic()
        note(f"{model.name}: reading {path.stat().st_size >> 20} MB")
        limits = Limits(edges=max_edges, memory_mb=memory_mb, lower=lower)
        dump = read_dump(path, limits, result.generated - 1)
    found = (len(dump.states), len(dump.source))
    if found != (model.states, model.edges):
        raise ToolError(
            f"the graph {model.name} has {found[0]} states and {found[1]} edges, not "
            f"{model.states} and {model.edges} as {LIST} states"
        )
    return Dumped(model, dump, book, result.seconds, monotonic() - begin, limits)


def module_folder(model: Graph, specs: Path = SPECS) -> Path:
    """Where its module lies."""
    of = [specs / folder_of(model.protocol) / "cover", *libraries_of(model, specs)]
    return next((each for each in of if (each / f"{model.module}.tla").is_file()), of[0])


def libraries_of(model: Graph, specs: Path = SPECS) -> list[Path]:
    """Where the modules lie that its module extends."""
    by_name = {each.name: each for each in ALL}
    protocol = by_name[model.protocol]
    own = specs / folder_of(model.protocol)
    found, extends = [own, own / "steps", own / "cover"], protocol.extends
    while extends:
        found += [specs / folder_of(extends), specs / folder_of(extends) / "cover"]
        extends = by_name[extends].extends
    found += [specs / "common"] if not protocol.modules else []
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def twin_of(book: RuleBook, specs: Path = SPECS) -> str:
    """The text of the module whose graph TLC dumps."""
    inputs = module_folder(book.graph, specs) / f"{book.graph.module}.tla"
    return book.twin(inputs.read_text("utf-8") if book.graph.module else "")


def rule_book(graph: Graph, replacement: type | None = None) -> RuleBook:
    """Make the rule book of a graph. Raises ToolError: it cannot be made."""
    [protocol] = [each for each in ALL if each.name == graph.protocol]
    try:
        constants = msgspec.convert(dict(graph.constants), protocol.constants)
    except msgspec.ValidationError as error:
        raise ToolError(f"the graph {graph.name}: constants: {error}") from None
    return RuleBook(protocol, constants, graph, replacement)
