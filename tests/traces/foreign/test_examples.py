"""The worked examples: their verdicts, and that their programs still print these traces."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import code_of
from kraftcheck.traces.foreign.batch import judge_batch
from kraftcheck.traces.foreign.chain import judge_chains
from kraftcheck.traces.foreign.reading import read_foreign
from tests.traces.foreign.lines import Line, write

EXAMPLES = Path(__file__).parents[3] / "examples" / "foreign"
PROGRAMS = ("Voter", "Broker")
KINDS = (
    *("Voter", "Broker", "Controller"),
    *("TransactionLog", "TransactionPartition", "TransactionOffsets"),
    *("TransactionProducer", "TransactionInstance", "TransactionReader"),
    *("GroupCoordinator", "GroupMember", "GroupLoader", "GroupOffsets", "GroupMigration"),
    *("CommittingCoordinator", "CommittingMember"),
    *(
        "ClassicCoordinator",
        "ClassicMember",
        "QuorumController",
        "UnformattedController",
        "MetadataReplica",
        "TopicController",
        "MovingBroker",
        "MovingController",
        "HostingBroker",
        "DirectoriesBroker",
        "DirectoriesController",
        "CompactedReplica",
        "ShareCoordinator",
        "ShareLeader",
        "ShareConsumer",
    ),
    *("SessionBroker", "SessionClient", "ShareStore", "StateLeader", "ShareGroup"),
    *("MetadataLog", "ActiveController", "ControllerClients"),
    "VoterSince41",
)
VARIANTS = {"": (), "-bug": ("--bug",), "-partial": ("--partial",)}
VARIANTS["-bug-partial"] = ("--bug", "--partial")


@pytest.mark.acceptance
@pytest.mark.skipif(shutil.which("javac") is None, reason="the programs need a Java compiler")
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_print_what_is_recorded(program: str, tmp_path: Path) -> None:
    built = ["javac", "-d", str(tmp_path), str(EXAMPLES / f"{program}.java")]
    subprocess.run(built, check=True, timeout=120)
    for variant, options in VARIANTS.items():
        java = ["java", "-cp", str(tmp_path), program, *options]
        ran = subprocess.run(java, check=True, capture_output=True, timeout=60)
        assert ran.stdout == (EXAMPLES / f"{program.lower()}{variant}.jsonl").read_bytes()


# The line and the words of the first rejection, or nothing.
VERDICTS = {
    "broker": None,
    "broker-bug": (4, "after.highWatermark: recorded 1, spec allows {0}"),
    "broker-partial": None,
    "broker-bug-partial": (4, "after.highWatermark: recorded 1, spec allows {0}"),
    "voter-partial": None,
    "voter-bug-partial": (6, "sent{}.granted: recorded TRUE, spec allows {FALSE}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_the_planted_bugs_are_rejected_and_nothing_else(name: str) -> None:
    trace = read_foreign(EXAMPLES / f"{name}.jsonl")
    found = judge_batch(trace) if trace.full else judge_chains(trace)
    expected = VERDICTS[name]
    assert code_of(found.verdict) == (0 if expected is None else 1)
    if expected is not None:
        first = found.rejections[0]
        assert (first.line, first.differences[0]) == expected


def test_the_schema_has_the_header_and_every_kind_of_line() -> None:
    """As the command prints it: without a path, and nothing is judged."""
    printed = CliRunner().invoke(cli, ["conform", "--schema"])
    assert printed.exit_code == 0
    schema = msgspec.json.decode(printed.stdout)
    lines = [f"{partial}{kind}Step" for kind in KINDS for partial in ("", "Partial")]
    assert [each["$ref"] for each in schema["oneOf"]] == [
        f"#/$defs/{name}" for name in ("Header", *lines)
    ]
    for kind, name in (("Voter", "voter"), ("Broker", "broker")):
        step = schema["$defs"][f"{kind}Step"]
        full, partial = lines_of(name)[1], lines_of(f"{name}-partial")[1]
        assert full.keys() <= step["properties"].keys() and not step["additionalProperties"]
        assert set(step["required"]) <= full.keys()
        assert partial.keys() <= schema["$defs"][f"Partial{kind}Step"]["properties"].keys()


def lines_of(name: str) -> list[Line]:
    text = (EXAMPLES / f"{name}.jsonl").read_bytes()
    return [msgspec.json.decode(line) for line in text.splitlines()]


@pytest.mark.slow
def test_a_wrong_high_watermark_that_is_hidden_is_found_in_the_next_response(
    tmp_path: Path,
) -> None:
    lines = lines_of("broker-bug-partial")
    for line in lines[1:]:
        del line["after"]["highWatermark"]
    found = judge_chains(read_foreign(write(tmp_path / "broker.jsonl", lines)))
    first = found.rejections[0]
    said = "sent{}.highWatermark: recorded 1, spec allows {0}"
    assert (first.line, first.differences) == (6, [said])


def test_what_is_not_known_is_unknown_and_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Exit codes 2 and 3, by the command itself."""
    lines = lines_of("broker-bug-partial")
    lines[3]["input"].pop("client")
    path = write(tmp_path / "broker.jsonl", lines[:4])
    unknown = CliRunner().invoke(cli, ["conform", str(path)])
    assert unknown.exit_code == 2
    assert "line 4 hides client" in unknown.stdout
    lines[3]["after"]["isr"] = [3]
    write(path, lines)
    refused = CliRunner().invoke(cli, ["conform", str(path)])
    assert refused.exit_code == 3 and not refused.stdout
    said = f"kraftcheck: {path}:4: after.isr[...]: 3 is none of the nodes 1, 2\n"
    assert refused.stderr == said
