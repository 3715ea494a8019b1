"""The examples in the package's README run, and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "tla_utils" / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.tlc
@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example(
    example: str,
    repo_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(repo_root)
    exec(compile(example, str(README), "exec"), {})
    said = [line[2:] for line in example.splitlines() if line.startswith("# ")]
    assert said and capsys.readouterr().out.splitlines() == said


def test_the_reading_order_names_modules_that_exist() -> None:
    named = set(re.findall(r"`(\w+\.py)`", README.read_text(encoding="utf-8")))
    assert (
        len(named) >= 13
        and {name for name in named if not (README.parent / name).is_file()} == set()
    )
    assert len(EXAMPLES) == 2
