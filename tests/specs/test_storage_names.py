"""The rules of the engine's orders have one name on both sides, and so have its promises."""

from __future__ import annotations

import re
from pathlib import Path

from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.storage import promises
from kraftcheck.reference.storage.as_kafka import AsKafka
from kraftcheck.reference.storage.rules import StorageRules
from kraftcheck.specs import SPECS
from tla_utils import Model

STORAGE = SPECS / "storage"
_OPERATOR = re.compile(r"^(\w+)(?:\([^)]*\))? ==", re.MULTILINE)
MODELS = manifest_of().models


def chosen(model: Model) -> dict[str, str]:
    """By rule, what a model puts in its place."""
    put = model.config.substituted
    return {old: new for old, module, new in put if module == "StorageRules"}


def operators(path: Path) -> list[str]:
    return _OPERATOR.findall(path.read_text("utf-8"))


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def test_every_rule_of_the_spec_is_one_of_the_engine() -> None:
    rules = [each for each in operators(STORAGE / "StorageRules.tla") if each != "Reversed"]
    assert len(rules) == 18
    assert [each for each in rules if snake(each) not in vars(StorageRules)] == []


def test_kafka_decides_otherwise_in_the_same_rules() -> None:
    """Those of AsKafka that the specification says; its models substitute all of them."""
    kafka = {each.removeprefix("Kafka_") for each in operators(STORAGE / "bugs/KafkaOrders.tla")}
    said = set(operators(STORAGE / "StorageRules.tla"))
    assert kafka == {each for each in said if snake(each) in vars(AsKafka)}
    found = [m for m in MODELS.values() if m.folder == "storage" and m.name.startswith("kafka-")]
    assert len(found) == 6
    for model in found:
        assert chosen(model) == {each: f"Kafka_{each}" for each in kafka}, model.name


def test_a_bug_replaces_one_rule_on_both_sides() -> None:
    for id in ("Z142", "Z143", "Z145", "Z161", "Z171", "Z178"):
        assert [snake(each) for each in chosen(MODELS[id])] == list(bug(id).replaces)


def test_promises_have_one_name() -> None:
    """But for the refinement, which tests/reference/storage/abstraction.py holds."""
    named = operators(STORAGE / "StorageProperties.tla")
    text = Path(promises.__file__).read_text("utf-8")
    own = {"Judged", "LogStep", "RefinesLog"}
    assert [each for each in named if each not in own and each not in text] == []
