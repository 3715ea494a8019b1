"""What tests against librdkafka's mock share: it cannot be asked for a topic's configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kraftcheck.kafka.live import topics


@pytest.fixture(scope="session", autouse=True)
def unanswered() -> Iterator[None]:
    """The mock leaves the question for rules unanswered: five seconds of each recording otherwise,
    in which a broker would long have answered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topics, "RULES_S", 0.3)
        yield
