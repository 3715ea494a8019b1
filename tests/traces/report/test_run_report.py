"""The page about a run, as text: nothing of a run is mark-up; of a long run the end is drawn."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kraftcheck.traces.report.run import AFTER, STEPS_MAX, Arrow, render
from tests.traces.report.runs import run_of

HOSTILE = "</script><img src=x onerror=alert(1)>&\N{RIGHT-TO-LEFT OVERRIDE}"


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found.group(1))


def test_the_same_run_gives_the_same_bytes() -> None:
    assert render(run_of(20)) == render(run_of(20))


def test_every_step_and_message_is_drawn() -> None:
    page = render(run_of(20))
    assert page.count('<g class="step') == page.count('<g class="arrow') == 20
    assert page.count('class="arrow lost"') == 3  # Of the steps 6, 13 and the last.
    assert page.count('class="step marked') == 1 and "Drawn are" not in page
    assert [step["number"] for step in data_of(page)["steps"]] == list(range(20))


def test_nothing_of_a_run_is_mark_up() -> None:
    plain = run_of(3)
    step = plain.steps[1]._replace(
        action=HOSTILE,
        input=HOSTILE,
        sent=(HOSTILE,),
        ignored=HOSTILE,
        changed={HOSTILE: HOSTILE},
        said=(HOSTILE,),
    )
    lanes = [lane._replace(name=HOSTILE, row={HOSTILE: HOSTILE}) for lane in plain.lanes]
    page = render(
        plain._replace(
            title=HOSTILE,
            drawn=HOSTILE,
            verdict=HOSTILE,
            found=[HOSTILE],
            lines=[HOSTILE],
            lanes=lanes,
            steps=[plain.steps[0], step, plain.steps[2]],
            arrows=[Arrow(HOSTILE, 0, 1, 0, 1)],
        )
    )
    assert "<img" not in page and "\N{RIGHT-TO-LEFT OVERRIDE}" not in page
    assert page.count("</script>") == 2  # Ours: the data and the script.
    assert data_of(page)["lanes"][0]["row"] == {HOSTILE: HOSTILE}


def test_of_a_long_run_the_end_is_drawn_and_the_rest_is_folded() -> None:
    page = render(run_of(STEPS_MAX + 10))
    data = data_of(page)
    assert f"Drawn are the steps 10 to {STEPS_MAX + 9}: 10 are" in page
    assert page.count('<g class="step') == STEPS_MAX == len(data["steps"])
    assert data["steps"][0]["number"] == 10
    # What nodes 0, 1 and 2 were after the steps 9, 7 and 8.
    assert [lane["row"]["passed"] for lane in data["lanes"]] == ["9", "7", "8"]
    # The message that step 9 sent comes from above; those that were taken before are gone.
    assert page.count('<g class="arrow') == STEPS_MAX + 1
    assert 'data-left="" data-taken="0"' in page
    words = page[page.index("<pre>") : page.index("</pre>")]
    assert words.count("Pass") == STEPS_MAX + 10


def test_a_run_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        render(run_of(3)._replace(steps=[], arrows=[]))


def test_of_a_long_run_what_is_wrong_is_drawn() -> None:
    page = render(run_of(3 * STEPS_MAX, marked=STEPS_MAX + 100))
    assert f"Drawn are the steps {100 + AFTER} to {STEPS_MAX + 99 + AFTER}: 3,000 are" in page
    assert page.count('class="step marked') == 1
    early = render(run_of(3 * STEPS_MAX, marked=5))
    assert f"Drawn are the steps 0 to {4 + AFTER}" in early and early.count("step marked") == 1
