"""Which settings of Spark are the user's, and which are ours."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kraftcheck.traces.jobs import session
from tla_utils.errors import ToolError


def test_what_the_users_defaults_name_is_left_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert session.settings_of(local=True, here=True, driver_memory="2g").keys() >= {
        "spark.driver.memory",
        "spark.ui.enabled",
    }
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.ui.showConsoleProgress true\n"
        "spark.driver.memory  3g\nspark.ui.enabled=true\n  spark.sql.session.timeZone CET\n"
    )
    ours = session.settings_of(local=True, here=True, driver_memory="2g")
    assert "spark.driver.memory" not in ours and "spark.ui.enabled" not in ours
    assert "spark.ui.showConsoleProgress" in ours  # a comment names nothing
    assert ours["spark.sql.session.timeZone"] == "UTC", "results depend on it"


@pytest.mark.parametrize(
    ("given", "started"),
    [
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local", "local"),
        ("spark://127.0.0.1:7077", "spark://127.0.0.1:7077"),
    ],
)
def test_a_killed_worker_costs_one_attempt_of_four(given: str, started: str) -> None:
    assert session.with_attempts(given) == started


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    """Spark itself gives up after a minute, with a hundred lines of Java."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        here, gone = one.getsockname()[1], two.getsockname()[1]
        two.close()
        session.find_master(f"spark://127.0.0.1:{gone},127.0.0.1:{here}")
        for each in (f"127.0.0.1:{gone}", "127.0.0.1", "127.0.0.1:99999", ":"):
            with pytest.raises(ToolError, match="no Spark master answers at spark://"):
                session.find_master(f"spark://{each}")
    session.find_master("local[2]")
    session.find_master("yarn")
