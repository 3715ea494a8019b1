"""The patches of finds apply to Kafka's repository, as far as its source jars rebuild it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.changed import FINDS, KNOWN, patched
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.live.sources import place_of

# The folders of a checkout of Kafka that patches may name.
_PLACE = re.compile(r"^[a-z-]+/src/(main|test|generated)/(java|scala|resources)/\S+$")


@pytest.mark.parametrize("name", KNOWN)
def test_a_patch_names_files_as_a_checkout_of_kafka_does(name: str) -> None:
    for patch in (FINDS / name).glob("*.patch"):
        files = re.findall(r"^\+\+\+ b/(\S+)", patch.read_text("utf-8"), re.MULTILINE)
        assert files and all(_PLACE.match(file) for file in files)
        is_generated = {"/generated/" in file for file in files}
        assert is_generated == {patch.name == "generated.patch"}


@pytest.mark.kafka
@pytest.mark.parametrize("name", KNOWN)
def test_a_patch_applies(name: str, tmp_path: Path) -> None:
    for file in patched(name, tmp_path):
        assert file.is_file()


@pytest.mark.kafka
def test_a_patch_that_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Z1").mkdir()
    text = (FINDS / "Z107" / "fix.patch").read_text("utf-8")
    context = next(line for line in text.splitlines() if line.startswith("     "))
    (tmp_path / "Z1" / "fix.patch").write_text(text.replace(context, f"{context} other"), "utf-8")
    monkeypatch.setattr("experiments.changed.FINDS", tmp_path)
    with pytest.raises(ClusterError, match="git: error: patch failed"):
        patched("Z1", tmp_path / "tree")


def test_the_place_of_a_file_in_the_repository() -> None:
    of = place_of("kafka_2.13", "kafka/server/KafkaApis.scala")
    assert of == "core/src/main/scala/kafka/server/KafkaApis.scala"
    of = place_of("kafka-raft", "org/apache/kafka/raft/QuorumState.java")
    assert of == "raft/src/main/java/org/apache/kafka/raft/QuorumState.java"
    of = place_of("kafka-clients", "common/message/VoteResponse.json")
    assert of == "clients/src/main/resources/common/message/VoteResponse.json"
