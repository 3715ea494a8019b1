"""`cluster` and `record`: a real Kafka cluster of ours, and histories of any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen
from live.artifacts import ArtifactError, check, libraries, version
from live.cluster import LAYOUTS, Cluster, ClusterError, Node
from live.faults import KINDS
from live.islands import IslandError

__all__ = ["KINDS", "LAYOUTS", "act", "down", "record", "status", "up"]

DEFAULT = Path("runs/cluster")


def fetch(screen: Screen) -> int:
    """Makes sure that Kafka's jars are there, and are those that are known."""
    folder = _tried(libraries)
    _tried(lambda: check(folder))
    jars = len(list(folder.glob("*.jar")))
    screen.line(f"Apache Kafka {version()}: {jars} jars, {folder}")
    screen.document({"version": version(), "folder": str(folder), "jars": jars})
    return exits.HOLDS


def up(folder: Path, layout: str, islands: bool, settings: tuple[str, ...], screen: Screen) -> int:
    """Starts a new cluster; `settings`: key=value, for every node."""
    pairs = [setting.partition("=") for setting in settings]
    for setting, (_, equals, _) in zip(settings, pairs, strict=True):
        if not equals:
            raise BadInput(f"--set {setting}: not of the form key=value")
    chosen = {key: value for key, _, value in pairs}
    cluster = _tried(lambda: Cluster.up(folder, layout, islands, chosen, lasts=True))
    return _shown(cluster, screen)


def down(folder: Path, screen: Screen) -> int:
    """Stops what was started from the folder, and removes its data."""
    cluster = _tried(lambda: Cluster.load(folder))
    _tried(cluster.down)
    screen.line(f"{folder}: down")
    screen.document({"folder": str(folder), "running": []})
    return exits.HOLDS


def status(folder: Path, screen: Screen) -> int:
    """Who runs, who is paused, which links are cut."""
    return _shown(_tried(lambda: Cluster.load(folder)), screen)


def act(folder: Path, verb: str, names: tuple[str, ...], screen: Screen) -> int:
    """start, kill, pause or resume nodes; cut or heal the links of the first to the others."""
    cluster = _tried(lambda: Cluster.load(folder))
    if verb == "partition":
        others = names[1:] or tuple(n.name for n in cluster.state.nodes if n.name != names[0])
        for other in others:
            _tried(lambda other=other: cluster.cut(names[0], other))  # type: ignore[misc]
    elif verb == "heal":
        _tried(cluster.heal)
    else:
        for name in names:
            _tried(lambda name=name: getattr(cluster, verb)(name))  # type: ignore[misc]
    return _shown(cluster, screen)


def record(
    bootstrap: str | None, folder: Path | None, out: Path, plan: dict[str, Any], screen: Screen
) -> int:
    """Records a history into `out`; faults need a cluster of ours."""
    from live.journal import HISTORY
    from live.recording import Plan, RecordingError
    from live.recording import record as work

    cluster = _tried(lambda: Cluster.load(folder)) if folder else None
    if bootstrap is None and cluster is None:
        raise BadInput("say what to record: --bootstrap HOST:PORT, or --cluster DIR")
    if plan["faults"] and cluster is None:
        raise BadInput("--faults needs --cluster DIR: only a cluster of ours is disturbed")
    if cluster is not None:
        _refuse(plan["faults"], cluster)
    address = bootstrap or (cluster.bootstrap if cluster else "")
    try:
        recording = work(address, Plan(**plan), out, cluster)
    except RecordingError as error:
        raise BadInput(str(error)) from None
    end = "complete" if recording.complete else "INCOMPLETE: the final read did not reach the end"
    screen.line(f"{out / HISTORY}: {recording.lines} lines in {recording.seconds} s, {end}")
    if recording.held:
        screen.line(f"{recording.held} clients were left behind: their library never came back")
    screen.document(
        {
            "history": str(out / HISTORY),
            "lines": recording.lines,
            "seconds": recording.seconds,
            "complete": recording.complete,
            "held": recording.held,
        }
    )
    return exits.HOLDS if recording.complete else exits.UNKNOWN


def _refuse(faults: tuple[str, ...], cluster: Cluster) -> None:
    """Raises BadInput for a fault that this cluster cannot have."""
    for fault in faults:
        stranded = fault.startswith("last")
        if (stranded or fault == "partition") and not cluster.state.islands:
            raise BadInput(f"--faults {fault}: start the cluster with --islands")
        if stranded and any(len(node.roles) > 1 for node in cluster.state.nodes):
            raise BadInput(f"--faults {fault}: start the cluster with controllers apart")


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except (ArtifactError, ClusterError, IslandError) as error:
        raise BadInput(str(error)) from None


def _shown(cluster: Cluster, screen: Screen) -> int:
    state = cluster.state
    screen.line(f"Apache Kafka {state.version}, {state.layout}, {cluster.directory}")
    for node in state.nodes:
        roles = ", ".join(node.roles)
        screen.line(f"{node.name}  {node.listener}  {roles}  {_condition(cluster, node)}")
    for a, b in state.cuts:
        screen.line(f"the link between {a} and {b} is cut")
    screen.document(
        {
            "folder": str(cluster.directory),
            "version": state.version,
            "bootstrap": cluster.bootstrap,
            "nodes": {node.name: _condition(cluster, node) for node in state.nodes},
            "cuts": [list(cut) for cut in state.cuts],
        }
    )
    return exits.HOLDS


def _condition(cluster: Cluster, node: Node) -> str:
    if not cluster.is_running(node.name):
        return "down"
    return "paused" if node.name in cluster.state.paused else "running"
