"""Read the list of graphs that can be covered (folder `cover` of a protocol), and dump them.

TLC dumps them.

Laws of this file: the list is read strictly, as the manifest of models is; a graph whose counts are
not those that the list states is no evidence and an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from kraftcheck.osutil.files import read_toml
from kraftcheck.reference.kit.cover import Composition
from kraftcheck.reference.protocols import PROTOCOLS as ALL, part_of, parts_of
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.plain import MODULE, PlainComposition
from tla_utils import Jar, Java, TlcJob, ToolError, run_tlc
from tla_utils.config import cfg_text
from tla_utils.dump import DEFAULT_LIMITS, Dump, Limits, read_dump
from tla_utils.model_table import Run, read_runs
from tla_utils.runner import ModuleText
from tla_utils.settings import constants_of

LIST: Final = "covers.toml"
PROTOCOLS: Final[Mapping[str, Callable[[Mapping[str, str], Any], Composition]]] = {
    protocol.name: module.composition_of
    for protocol in ALL
    if (module := part_of(protocol, "cover.composition"))
}
"""Who makes the composition of a protocol's cfg, with what replaces the reference's rules: a module
of the protocol's folder, if there is one."""
_OF_TLC: Final = ("like", "module", "constants", "replaces")
"""What says to TLC which graph it is; there is nothing, such as a view, that would make it another
one than the composition's."""


@dataclass(frozen=True, slots=True)
class CoverModel:
    """One graph: a table of the list, named after it.

    states, edges: TLC's counts, exact; edges are generated states less the initial one. heap_mb,
    timeout_s: how TLC is run.
    """

    name: str
    """unique."""
    protocol: str
    """Whose composition it is."""
    tier: str
    """A word to select by."""
    claim: str
    """What the graph shows."""
    states: int
    edges: int
    module: str = ""
    """In its folder `cover`."""
    cfg: str = ""
    """What TLC is given with it, made of the constants (and of `like` and `replaces`, as
    model_table.py in tla_utils says). A protocol without a composition of its own (plain.py) has
    budgets besides, and `module` has its inputs with fields, if there are any.
    """
    constants: Mapping[str, Any] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    heap_mb: int = 2048
    timeout_s: int = 900


@dataclass(frozen=True, slots=True)
class Dumped:
    """A graph with its composition.

    It has the seconds that TLC and the reader took, and how large the graph may become.
    """

    model: CoverModel
    cfg: str
    """What TLC was given."""
    dump: Dump
    composition: Composition
    tlc_seconds: float
    read_seconds: float
    limits: Limits = DEFAULT_LIMITS

    def look_at_memory(self, states: int, edges: int, done: str) -> None:
        """Raises ToolError if this process has become too large by now, with so much done."""
        self.limits.look_at_memory(self.model.name, states, edges, done)


def read_covers(specs: Path = SPECS) -> dict[str, CoverModel]:
    """The models by name, in their order: those of the folder, or of all protocols in it.

    Raises ToolError for what is not in order.
    """
    of_all = [specs / each.name / "cover" / LIST for each in ALL]
    of_all = [path for path in of_all if path.is_file()]
    models = [model for path in of_all or [specs / "cover" / LIST] for model in _read(path)]
    named = {model.name: model for model in models}
    if len(named) != len(models):
        raise ToolError(f"{specs} gives one name to two graphs")
    return named


def _read(path: Path) -> list[CoverModel]:
    try:
        tables = read_toml(path)
    except OSError as error:
        raise ToolError(f"the list {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ToolError(f"{path} is no TOML: {error}") from error
    if not tables or not all(isinstance(table, dict) for table in tables.values()):
        raise ToolError(f"{path} is not a list of graphs: write each as a table [NAME]")
    protocols = {*PROTOCOLS, *(each.name for each in ALL if each.by_chance)}
    for name, table in tables.items():
        protocol = table.get("protocol", "")
        if protocol and protocol not in protocols:
            raise ToolError(f"{path}: the graph {name} is of an unknown protocol {protocol}")
    of_tlc = {
        name: (f"{path}: the graph {name}", {key: table[key] for key in _OF_TLC if key in table})
        for name, table in tables.items()
        if table.get("protocol") in PROTOCOLS
    }
    runs = read_runs(of_tlc)
    return [_model(path, name, table, runs.get(name)) for name, table in tables.items()]


def _model(path: Path, name: str, table: Mapping[str, Any], run: Run | None) -> CoverModel:
    known = {f.name: f for f in fields(CoverModel) if f.name not in ("name", "cfg")}
    own = {key: value for key, value in table.items() if run is None or key not in _OF_TLC}
    for key, value in own.items():
        if key not in known:
            raise ToolError(f"{path}: the graph {name} has an unknown key {key}")
        kind = {"int": int, "str": str}.get(str(known[key].type), dict)
        if type(value) is not kind:
            raise ToolError(f"{path}: the graph {name} needs {key} to be of type {kind.__name__}")
    missing = [
        key
        for key, f in known.items()
        if f.default is MISSING and f.default_factory is MISSING and key not in own
    ]
    if missing:
        raise ToolError(f"{path}: the graph {name} does not say {', '.join(missing)}")
    if run is not None:
        config = replace(run.config, init=["CoverInit"], next=["CoverNext"])
        return CoverModel(name=name, module=run.module, cfg=cfg_text(config), **own)
    return CoverModel(name=name, **own)


def of_scenario(models: Sequence[CoverModel], scenario: str) -> list[CoverModel]:
    """The graphs whose protocol runs of this scenario follow, or one of its components does."""
    names = {protocol.name for protocol in parts_of(scenario)}
    return [model for model in models if model.protocol in names]


def select(
    models: Mapping[str, CoverModel], names: Sequence[str], tiers: Sequence[str]
) -> list[CoverModel]:
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
    model: CoverModel,
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
    composition, module, cfg = _twins(model, specs, replacement)
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
            module=module,
            cfg=cfg,
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
    return Dumped(model, cfg, dump, composition, result.seconds, monotonic() - begin, limits)


def folder_of(model: CoverModel, specs: Path = SPECS) -> Path:
    """Where its module lies."""
    of = [specs / model.protocol / "cover", *libraries_of(model, specs)]
    return next((each for each in of if (each / f"{model.module}.tla").is_file()), of[0])


def libraries_of(model: CoverModel, specs: Path = SPECS) -> list[Path]:
    """Where the modules lie that its module extends."""
    by_name = {each.name: each for each in ALL}
    protocol = by_name[model.protocol]
    own = Path(protocol.modules or specs / model.protocol)
    found, extends = [own, own / "steps", own / "cover"], protocol.extends
    while extends:
        found += [specs / extends, specs / extends / "cover"]
        extends = by_name[extends].extends
    found += [specs / "common"] if not protocol.modules else []
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def _twins(
    model: CoverModel, specs: Path, replacement: type | None
) -> tuple[Composition, Path | ModuleText, str]:
    """A graph's composition, and its module and cfg. Raises ToolError: they cannot be made."""
    if model.protocol in PROTOCOLS:
        composition = PROTOCOLS[model.protocol](constants_of(model.cfg), replacement)
        return composition, folder_of(model, specs) / f"{model.module}.tla", model.cfg
    [protocol] = [each for each in ALL if each.name == model.protocol]
    try:
        constants = msgspec.convert(dict(model.constants), protocol.constants)
    except msgspec.ValidationError as error:
        raise ToolError(f"the graph {model.name}: constants: {error}") from None
    plain = PlainComposition(protocol, constants, model.budgets, replacement, model.module)
    return plain, ModuleText(MODULE, plain.module()), plain.cfg()
