"""Write the generated parts of the documentation: what restates what is said elsewhere.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`. `make docs` rewrites
them all; a test fails when one is stale. Given names of parts they are printed instead: so are the
tables of step traces, recorded (trace) and foreign, which are too long for a page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import Any

import click
import msgspec

from kraftcheck import exits
from kraftcheck.artifacts import checkout
from kraftcheck.checking import recorded
from kraftcheck.cli import cli
from kraftcheck.markdown import table
from kraftcheck.reference.bugs.catalog import bugs_of
from kraftcheck.reference.clients.promises import (
    ANYTHING_CLEAN,
    NOTHING,
    TABLE,
    Configuration,
    Envelope,
    Level,
    Promise,
    promised,
)
from kraftcheck.reference.kit.properties import Property
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.traces.checkers.anomalies import JEPSEN, NAMES, OURS
from kraftcheck.traces.checkers.atomicity import ACROSS
from kraftcheck.traces.checkers.groups import GROUPS
from kraftcheck.traces.checkers.shares import SHARES
from kraftcheck.traces.cover import life_cycles
from kraftcheck.traces.foreign.describe import tables
from kraftcheck.traces.foreign.profiles import Entry, names, read_profile
from kraftcheck.traces.jobs.tables import TABLES as SQL_TABLES
from kraftcheck.traces.schema import TABLES, describe

_PART = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def bugs(protocol: Protocol) -> str:
    """The table of a protocol's bugs: where each lives, what shows it, and who can see it."""
    rows = []
    for bug in bugs_of(protocol.name):
        parts = (
            bug.boundary,
            bug.configuration and f"configured: {bug.configuration}",
            bug.scope and f"not replayed: it {bug.scope}",
        )
        where = "; ".join(filter(None, parts))
        seen = ", ".join(bug.detectors) or "-"
        broken = f"{', '.join((bug.property, *bug.also))} ({bug.klass})"
        size = f"{bug.nodes} {protocol.alike if bug.nodes > 1 else protocol.alike[:-1]}"
        size += ", a lossy crash" if bug.lossy else ""
        rows.append((bug.id, bug.title, where, bug.field or "-", broken, seen, size))
    heads = ("id", "bug", "rule or boundary", "shown in", "breaks", "who can see it", "smallest")
    return table(heads, rows)


def properties(protocol: Protocol) -> str:
    """What a protocol promises: what each property means, and what it would miss."""
    rows = [(each.name, each.sentence, each.misses) for each in stated(protocol)]
    return table(("property", "means", "misses"), rows)


def stated(protocol: Protocol) -> Sequence[Property]:
    """The properties of a protocol, also of one of your own."""
    return protocol.properties or (protocol.world.properties if protocol.world else ())


def trace() -> str:
    """The tables of a part, from the trace contract."""
    parts = []
    for name, fields in TABLES.items():
        rows = [(f"`{of}`", kind, unit or "-", says) for of, kind, unit, says in describe(fields)]
        parts.append(f"#### `{name}`\n\n{table(('field', 'type', 'unit', 'meaning'), rows)}")
    return "\n".join(parts)


def sql() -> str:
    """The tables that SQL is asked about."""
    parts = []
    for name, fields in SQL_TABLES.items():
        rows = [(f"`{of}`", kind, unit or "-", says) for of, kind, unit, says in describe(fields)]
        parts.append(f"### `{name}`\n\n{table(('column', 'type', 'unit', 'meaning'), rows)}")
    return "\n".join(parts)


def foreign() -> str:
    """What stands in a foreign step trace, from the types of its parser."""
    parts = []
    for heading, rows in tables():
        named = any(name for name, _, _ in rows)
        heads = ("type", "tag", "fields") if named else ("field", "what stands there")
        parts.append(f"### {heading}\n\n{table(heads, [row[-len(heads) :] for row in rows])}")
    return "\n".join(parts)


def promises() -> str:
    """What each cause takes away, from the table of promises."""
    rows = []
    for row in TABLE:
        level = "-" if row.level == Level.LINEARIZABLE else row.level.words
        taken = "everything" if row.nothing else _taken(row.durable, row.ordered)
        allows = ", ".join(row.allows) or "-"
        level = "nothing is promised" if row.nothing else level
        rows.append((row.id, row.when, level, taken, allows, row.because, row.source))
    heads = ("cause", "when", "reads at most", "takes away", "allows", "why", "source")
    return table(heads, rows)


def _taken(durable: bool, ordered: bool) -> str:
    words = [] if durable else ["durability"]
    return ", ".join(words if ordered else [*words, "order"]) or "-"


_CONFIGURATIONS: dict[str, Configuration] = {
    "Kafka's defaults": Configuration(one_client=False),
    "the same, a client reads its own": Configuration(),
    "consumers read from followers": Configuration(reads_from="follower", one_client=False),
    "transactions, read_committed": Configuration(
        transactions=True, isolation="read_committed", one_client=False
    ),
    "transactions, read_uncommitted": Configuration(transactions=True, one_client=False),
    "acks=1": Configuration(acks="1", idempotence=False, retries=False, one_client=False),
    "acks=0": Configuration(acks="0", idempotence=False, retries=False, one_client=False),
    "acks=all, ELR off": Configuration(elr=False, one_client=False),
}
_ENVELOPES: dict[str, Envelope] = {
    "nothing went wrong": NOTHING,
    "the leader moved": Envelope(leader_moves=1),
    "anything clean": ANYTHING_CLEAN,
    "a replica lost records": Envelope(leader_moves=1, lossy=1),
    "unclean election": Envelope(unclean_moves=1),
}


def promised_levels() -> str:
    """Some configurations, and what they promise under what went wrong."""
    rows = [
        (name, *[_in_short(promised(configuration, each)) for each in _ENVELOPES.values()])
        for name, configuration in _CONFIGURATIONS.items()
    ]
    return table(("", *_ENVELOPES), rows)


def _in_short(promise: Promise) -> str:
    if promise.nothing:
        return "nothing"
    lost = "" if promise.durable else "; may lose"
    return f"{int(promise.level)} {promise.level.words}{lost}"


def anomalies() -> str:
    """The anomalies of partition logs, the gravest first, and which causes allow them."""
    return _anomalies({name: JEPSEN.get(name) or OURS[name] for name in NAMES})


def transaction_anomalies() -> str:
    """Those of transactions."""
    return _anomalies(ACROSS)


def group_anomalies() -> str:
    """Those of consumer groups."""
    return _anomalies(GROUPS)


def share_anomalies() -> str:
    """Those of share groups."""
    return _anomalies(SHARES)


def _anomalies(meanings: Mapping[str, str]) -> str:
    rows = []
    for name, meaning in meanings.items():
        ours = "" if name in JEPSEN or name == "G1c" else " *"
        allowed = ", ".join(row.id for row in TABLE if name in row.allows) or "never"
        rows.append((f"`{name}`{ours}", meaning, allowed))
    return table(("anomaly", "means", "allowed where"), rows)


def recording() -> str:
    """The fields of `recording.json`, with their defaults."""
    rows = []
    for prefix, kind, meanings in (
        ("", recorded.Recorded, recorded.FIELDS),
        ("configuration.", Configuration, recorded.CONFIGURATION),
        ("envelope.", Envelope, recorded.ENVELOPE),
    ):
        known = {each.name: each for each in msgspec.structs.fields(kind)}
        for name, meaning in meanings.items():
            default = f"`{msgspec.json.encode(_default(known[name].default)).decode()}`"
            if kind is Configuration and name in recorded.FROM_HISTORY:
                default = "from the history"
            rows.append((f"`{prefix}{name}`", default, meaning))
    described = ", ".join(f"`{each}`" for each in recorded.DESCRIPTIVE)
    rows.append((described, "", "describe the recording; no verdict depends on them"))
    return table(("field", "default", "means"), rows)


def _default(default: Any) -> Any:
    return {} if isinstance(default, Configuration) else default


def profile() -> str:
    """The entries of all profiles, from specs/*/profiles, each once."""
    found: dict[Entry, list[str]] = {}
    for name in sorted(names(), reverse=True):
        for entry in read_profile(name).entries:
            found.setdefault(entry, []).append(name)
    rows = [(f"`{e.name}`", e.of, e.says, e.source, ", ".join(of)) for e, of in found.items()]
    return table(("entry", "class", "Kafka", "where", "profiles"), rows)


def flags() -> str:
    """The options of all verbs: each with its verbs and their meanings."""
    found: dict[str, dict[str, list[str]]] = {}
    for verb, option in options_of(cli):
        meanings = found.setdefault("/".join((*option.opts, *option.secondary_opts)), {})
        meanings.setdefault(option.help or "-", []).append(verb)
    rows = [
        (f"`{flag}`", meaning, ", ".join(verbs))
        for flag, meanings in sorted(found.items())
        for meaning, verbs in meanings.items()
    ]
    return table(("option", "means", "verbs"), rows)


def options_of(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Option]]:
    """The options of a verb, or of all verbs of a group, with the verb's name."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            if found := command.get_command(context, verb):
                yield from options_of(found, f"{name} {verb}".strip())
        return
    yield from ((name, each) for each in command.params if isinstance(each, click.Option))


PARTS: dict[str, Callable[[], str]] = {
    "anomalies": anomalies,
    "transaction_anomalies": transaction_anomalies,
    "group_anomalies": group_anomalies,
    "share_anomalies": share_anomalies,
    "flags": flags,
    "foreign": foreign,
    "profile": profile,
    "recording": recording,
    "promises": promises,
    "promised_levels": promised_levels,
    "sql": sql,
    "trace": trace,
    **{f"{each.name}_bugs": partial(bugs, each) for each in PROTOCOLS},
    **{f"{each.name}_properties": partial(properties, each) for each in PROTOCOLS},
}
PAGES = (
    *("docs/reference/bugs.md", "docs/reference/protocol-rules.md", "docs/reference/histories.md"),
    *("docs/reference/witness-classes.md", "docs/reference/tables.md", "docs/reference/shares.md"),
)
# Written whole, by a minute of TLC where its graphs are others by now.
LIFE_CYCLES = "docs/measured/life-cycles.md"


def rewritten(text: str) -> str:
    """The page with its generated parts written anew."""
    return _PART.sub(
        lambda part: f"<!-- generated: {part[1]} -->\n{PARTS[part[1]]()}<!-- end -->", text
    )


USAGE = """\
usage: python -m kraftcheck.docs [PART...]

Prints these generated parts of the documentation; without one, writes all of them into its pages.

parts: """


def main(*parts: str) -> int:
    """parts: names of those to print. The exit code."""
    if "--help" in parts or "-h" in parts:
        print(USAGE + fill(", ".join(PARTS), 93, subsequent_indent=" " * 7))
        return exits.HOLDS
    if strange := [part for part in parts if part not in PARTS]:
        what = f"no part {strange[0]!r} of the documentation; --help lists them"
        print(f"kraftcheck: {what}", file=sys.stderr)
        return exits.BAD_INPUT
    for part in parts:
        print(PARTS[part](), end="")
    if parts:
        return exits.HOLDS
    root = checkout()
    for page in PAGES:
        path = root / page
        path.write_text(rewritten(path.read_text("utf-8")), "utf-8")
    pictures = root / LIFE_CYCLES
    if life_cycles.is_stale(pictures.read_text("utf-8")):
        pictures.write_text(life_cycles.drawn(), "utf-8")
    return exits.HOLDS


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
