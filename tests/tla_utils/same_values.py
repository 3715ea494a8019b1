"""Steps as text and as values in one run of TLC, which tells whether they are the same."""

from __future__ import annotations

from tla_utils.runner import ModuleText, TlcJob, run_tlc
from tla_utils.stepmodule import needs_tlc
from tla_utils.steptable import Batch, EncodedSteps, StepTable
from tla_utils.stepvalues import FILE, JAR, assumption, module


def differing(
    text: StepTable, values: StepTable | EncodedSteps, model_values: tuple[str, ...] = ()
) -> int:
    """How many steps have two fingerprints, or are held to differ by TLC.

    A state is the number of a step and the step: as text, and then as a value. Both are one state
    if their fingerprints are the same.
    """
    as_text, as_values = Batch(text), Batch.from_steps(values)
    rows = as_text.row_of_step
    definitions = as_text.definitions(rows).replace("SB_step(", "SB_text(")
    data = as_values.data(as_values.row_of_step)  # type: ignore[arg-type]
    head = ["Integers", "Sequences", "StepValues", *(["TLC"] if needs_tlc(definitions) else [])]
    constants = "".join(f"CONSTANT {name}\n" for name in model_values)
    source = (
        f"---- MODULE Same ----\nEXTENDS {', '.join(head)}\n{constants}VARIABLES id, step\n"
        f"{definitions}\n{assumption(data, len(rows))}"
        f"Init == /\\ id \\in 1..{len(rows)}\n"
        "        /\\ \\E side \\in {1, 2} : step = IF side = 1 THEN SB_text(id) ELSE SB_step(id)\n"
        "Next == FALSE /\\ UNCHANGED <<id, step>>\nEqual == SB_text(id) = SB_step(id)\n====\n"
    )
    cfg = "".join(f"CONSTANT {name} = {name}\n" for name in model_values)
    result = run_tlc(
        TlcJob(
            ModuleText("Same", source),
            f"{cfg}INIT Init\nNEXT Next\nINVARIANT Equal\n",
            beside=module(),
            files={FILE: data},
            classes=[JAR],
            heap_mb=2048,
            deadlock=False,
            go_on=True,
            timeout_s=600,
            jvm_flags=("-Xss64m",),
        )
    )
    assert not result.errors, result.errors[0][:500]
    assert result.complete and result.distinct is not None
    assert result.generated == 2 * len(rows), result
    unequal = {violation.states[0].values["id"] for violation in result.violations}
    return max(result.distinct - len(rows), len(unequal))
