"""Each release of Kafka does today what was recorded of it."""

from __future__ import annotations

import pytest

from kraftcheck.kafka.live.witness.jars import versions
from tests.live.witness_releases import component, kept
from tests.traces.foreign.test_profiles import DATA
from tests.traces.foreign.test_releases import INDEX

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-releases"),
]


@pytest.mark.parametrize("version", versions())
def test_a_release_does_what_was_recorded_of_it(version: str) -> None:
    for what, name in INDEX[version].items():
        if what == "parts":
            continue
        recorded = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
        assert kept(what, version)[1:] == recorded[1:], (what, component(what, version))
