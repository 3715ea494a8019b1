"""`cluster` and `record`: a real Kafka cluster of ours, and histories of any."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from kraftcheck import exits
from kraftcheck.conformance import use_java
from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.artifacts import ArtifactError, check, libraries, version
from kraftcheck.kafka.live.cluster import FIRST_VOTERS, LAYOUTS, Cluster, ClusterError, Node
from kraftcheck.kafka.live.faults import KINDS, MEMBERS
from kraftcheck.kafka.live.islands import IslandError
from kraftcheck.kafka.live.properties import PropertyError, properties
from kraftcheck.osutil.commands import command
from kraftcheck.screen import Screen

if TYPE_CHECKING:
    from kraftcheck.kafka.live.recording import Recording

__all__ = ["KINDS", "LAYOUTS", "act", "down", "record", "status", "up"]

PLAIN = "PLAINTEXT"
REFUSED = (ArtifactError, ClusterError, IslandError)
"""What a cluster of ours may answer; each says why in one line."""


@exits.refusing(*REFUSED)
def fetch(screen: Screen) -> int:
    """Makes sure that Kafka's jars are there, and are those that are known."""
    folder = libraries()
    check(folder)
    jars = len(list(folder.glob("*.jar")))
    screen.line(f"Apache Kafka {version()}: {jars} jars, {folder}")
    screen.document({"version": version(), "folder": str(folder), "jars": jars})
    return exits.HOLDS


@exits.refusing(*REFUSED)
def interceptor(out: Path, library: Path | None, screen: Screen) -> int:
    """Build the jar of the interceptors. library: the plugin for this librdkafka instead."""
    from kraftcheck.kafka.live import interceptor as work

    if not out.parent.is_dir():
        raise BadInput(f"{out.parent}: no such folder")
    if library is not None:
        plugin = out / work.PLUGIN if out.is_dir() else out
        work.build_plugin(library, plugin)
        own = {"plugin.library.paths": str(plugin), work.PATH: "/PATH/history.jsonl"}
        screen.line(f"plugin  {plugin}")
        for name, value in own.items():
            screen.line(f"client  {name}={value}")
        screen.document({"plugin": str(plugin), "client": own})
        return exits.HOLDS
    jar = out / work.JAR if out.is_dir() else out
    work.build(jar)
    told = {
        role: work.settings(name, Path("/PATH/history.jsonl"))
        for role, name in (("producer", work.PRODUCER), ("consumer", work.CONSUMER))
    }
    screen.line(f"jar         {jar}")
    for role, each in told.items():
        for name, value in each.items():
            screen.line(f"{role:<10}  {name}={value}")
    screen.document({"jar": str(jar), **told})
    return exits.HOLDS


@exits.refusing(*REFUSED)
def up(folder: Path, layout: str, islands: bool, settings: tuple[str, ...], screen: Screen) -> int:
    """Starts a new cluster; `settings`: key=value, for every node."""
    pairs = [setting.partition("=") for setting in settings]
    for setting, (_, equals, _) in zip(settings, pairs, strict=True):
        if not equals:
            raise BadInput(f"--set {setting}: not of the form key=value")
    chosen = {key: value for key, _, value in pairs}
    use_java()
    screen.doing("the nodes are started, and waited for")
    cluster = Cluster.up(folder, layout, islands, chosen, lasts=True)
    return _shown(cluster, screen)


@exits.refusing(*REFUSED)
def down(folder: Path, screen: Screen) -> int:
    """Stops what was started from the folder, and removes its data."""
    cluster = Cluster.load(folder)
    cluster.down()
    screen.line(f"{folder}: down")
    screen.document({"folder": str(folder), "running": []})
    return exits.HOLDS


@exits.refusing(*REFUSED)
def status(folder: Path, screen: Screen) -> int:
    """Who runs, who is paused, which links are cut."""
    return _shown(Cluster.load(folder), screen)


@exits.refusing(*REFUSED)
def act(folder: Path, verb: str, names: tuple[str, ...], screen: Screen) -> int:
    """start, kill, pause or resume nodes; cut or heal the links of the first to the others."""
    cluster = Cluster.load(folder)
    use_java()
    if verb == "partition":
        others = names[1:] or tuple(n.name for n in cluster.state.nodes if n.name != names[0])
        for other in others:
            cluster.cut(names[0], other)
    elif verb == "heal":
        cluster.heal()
    else:
        for name in names:
            getattr(cluster, verb)(name)
    return _shown(cluster, screen)


def record(
    bootstrap: str | None, folder: Path | None, out: Path, plan: dict[str, Any], screen: Screen
) -> int:
    """Records a history into `out`; faults need a cluster of ours, or a command that does them."""
    from kraftcheck.kafka.live.journal import HISTORY
    from kraftcheck.kafka.live.recording import Plan, RecordingError, record as work

    with exits.refusing(PropertyError):
        given = properties(plan.pop("config"), plan.pop("config_files"))
    with exits.refusing(*REFUSED):
        cluster = Cluster.load(folder) if folder else None
    if bootstrap is None and cluster is None:
        raise BadInput("say what to record: --bootstrap HOST:PORT, or --cluster DIR")
    if plan["faults"] and cluster is None:
        raise BadInput(
            "--inject needs --cluster DIR, a cluster of ours; for one that is not, say by "
            "--fault-command what does them"
        )
    secured = given.get("security.protocol", PLAIN).upper() != PLAIN
    if secured:
        if plan["observe"]:
            raise BadInput("--observe asks brokers by connections of its own, without TLS and SASL")
        if plan["client"] == "java":
            raise BadInput("--client java has connections without TLS and SASL only: take another")
    if cluster is not None:
        use_java()
        _refuse(plan["faults"], cluster, secured, plan["workload"])
    address = bootstrap or (cluster.bootstrap if cluster else "")
    wanted = Plan(**plan, properties=given)
    kept = f"what was recorded is kept, as incomplete: {command('check', out)}"
    again = "another recording takes another --out and another --topic"
    with (
        exits.refusing(RecordingError),
        exits.told_what_is_kept(f"{kept}; {again}"),
        screen.progress("recording", round(wanted.seconds)) as meter,
    ):
        begin = monotonic()

        def report(doing: str) -> None:
            meter.update(min(round(monotonic() - begin), round(wanted.seconds)), doing)

        recording = work(address, wanted, out, cluster, told=report)
    end = "complete" if recording.complete else f"INCOMPLETE: {_why_incomplete(recording)}"
    screen.line(f"{out / HISTORY}: {recording.lines} lines in {recording.seconds} s, {end}")
    if recording.held:
        screen.line(f"{recording.held} clients were left behind: their library never came back")
    _show_recorded(recording, out, screen)
    screen.document(
        {
            "history": str(out / HISTORY),
            "lines": recording.lines,
            "seconds": recording.seconds,
            "complete": bool(recording.complete),
            "held": recording.held,
            "faults": [msgspec.to_builtins(each) for each in recording.faults],
            "trouble": list(recording.trouble),
            "topic_had": 0 if recording.standing is None else recording.standing.records,
        }
    )
    return exits.HOLDS if recording.complete else exits.UNKNOWN


def _why_incomplete(recording: Recording) -> str:
    if recording.at_rest:
        return "the final read did not reach the end"
    return "the cluster did not come to rest (all replicas in sync, with logs of one length)"


def _show_recorded(recording: Recording, out: Path, screen: Screen) -> None:
    """What was wrong meanwhile, what is left behind, and what to do with the recording."""
    for each in recording.faults:
        where = f" of node {each.node}" if each.node >= 0 else ""
        screen.line(f"fault     {each.kind}{where}, {(each.end - each.begin) / 1000:.1f} s")
    happened = {each.kind for each in recording.faults}
    for kind in dict.fromkeys(recording.plan.faults):
        if kind not in happened:
            screen.line(f"fault     {kind}: requested, and never happened; give it more --time")
    if not recording.faults:
        screen.line("fault     none")
    for line in recording.trouble:
        screen.line(f"          {line}")
    from kraftcheck.kafka.live.journal import DISKS

    plan, there = recording.plan, recording.standing
    screen.line(
        f"topic     {plan.topic}: {plan.replication_factor} replicas, min ISR "
        f"{plan.min_insync_replicas}{', unclean elections' if plan.unclean_election else ''}"
        f"{'' if there is None or there.min_insync_replicas is None else ', as the cluster says'}"
    )
    left = "what was recorded is left in it"
    if there is not None and there.records:
        left += f", behind the {there.records:,} offsets that were there, which are not judged"
    screen.line(f"          {left}")
    screen.line(f"next      {command('check', out, '--html', out / 'pages')}")
    if recording.kafka is not None or plan.observe:
        screen.line(f"          {command('conform', out)}")
    if kept := sorted((out / DISKS).glob("*")):
        screen.line(f"          {command('disk', *kept)}")


def _refuse(faults: tuple[str, ...], cluster: Cluster, secured: bool, workload: str) -> None:
    """Raises BadInput for a fault that this cluster, or these clients, cannot have.

    secured: clients need TLS or SASL, which those who ask brokers for changes
    (kraftcheck/kafka/live/changes.py) do not have.
    """
    for fault in faults:
        if fault in MEMBERS and workload != "groups":
            raise BadInput(f"--inject {fault}: of members of groups: take --workload groups")
        if secured and fault in ("move", "recreate"):
            raise BadInput(f"--inject {fault} asks brokers without TLS and SASL: leave it out")
        if fault == "voter" and cluster.state.layout not in FIRST_VOTERS:
            raise BadInput("--inject voter: start the cluster with --layout changing")
        if fault == "move" and sum("broker" in node.roles for node in cluster.state.nodes) < 2:
            raise BadInput("--inject move: the cluster has one broker")
        stranded = fault.startswith("last")
        if (stranded or fault == "partition") and not cluster.state.islands:
            raise BadInput(f"--inject {fault}: start the cluster with --namespaces")
        if stranded and any(len(node.roles) > 1 for node in cluster.state.nodes):
            raise BadInput(f"--inject {fault}: start the cluster with controllers apart")


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
