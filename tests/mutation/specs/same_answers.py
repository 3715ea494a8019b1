"""Arguments that a mutant makes no difference, evaluated by TLC for every small row.

A decision is asked by others; where these come to the same whatever it says, the mutant cannot be
told apart. TLC is given the spec's modules as they are and once more with the mutant in place, and
one state for each row of a small domain, and compares what both come to.

Law of this file: a domain says which rows there are, and never what is right about them. It is
small (three brokers, two records), and leaves out only what no leader's row is like.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from kraftcheck.known_bugs.violations import root_module
from tests.mutation.specs.mutants import Mutant
from tla_utils import Manifest, RunOptions, TlcJob, TlcResult, run_tlc
from tla_utils.definitions import definitions

ASKING: Final = "PartitionRow"
"""The module whose operators ask the decisions; it extends PartitionRules."""
TWIN: Final = "Mutated"
"""Names of the modules with the mutant in them end so."""


class Question(NamedTuple):
    """asked: of broker 1's `row`, with `{}` before each operator. init: which rows there are."""

    asked: str
    init: str


_DOMAIN = """
Three == <<1, 2, 3>>
Logs == {<<>>, <<0>>, <<0, 0>>}
Isrs == {{1} \\cup others : others \\in SUBSET {2, 3}}
Proposals ==
  {NoPending}
    \\cup [kind : {"Expand", "Shrink"}, refused : {FALSE},
          isr : {{[broker |-> b, epoch |-> 0] : b \\in isr} : isr \\in Isrs}]
Remote(end, caughtUp) == [endOffset |-> end, brokerEpoch |-> 0, caughtUp |-> caughtUp]
Remotes(log) == {Remote(end, caughtUp) : end \\in Undefined..Len(log), caughtUp \\in BOOLEAN}
Known(fenced) == [epoch |-> 0, fenced |-> fenced, stopping |-> FALSE]
Image(second, third) ==
  [brokers |-> <<Known(FALSE), Known(second), Known(third)>>]
"""

_ANY_LEADER = """
Init ==
  \\E log \\in Logs, isr \\in Isrs, pending \\in Proposals, one, other \\in BOOLEAN :
    \\E second, third \\in Remotes(log) :
      row = [log |-> log, isr |-> isr, pending |-> pending, image |-> Image(one, other),
             remotes |-> <<Remote(Undefined, FALSE), second, third>>]
"""

# Who waits, waits for more than the high watermark: whoever waited for less was answered in the
# step that moved it, and nothing else moves a leader's high watermark.
_LEADER_THAT_IS_WAITED_FOR = """
Waiting(required) == [required |-> required, offset |-> required - 1,
  request |-> [type |-> "ProduceRequest", number |-> required]]
Init ==
  \\E isr \\in Isrs, pending \\in Proposals, highWatermark \\in 0..2 :
    \\E second, third \\in Remotes(<<0, 0>>), parked \\in SUBSET ((highWatermark + 1)..2) :
      row = [log |-> <<0, 0>>, isr |-> isr, pending |-> pending, image |-> Image(FALSE, FALSE),
             remotes |-> <<Remote(Undefined, FALSE), second, third>>,
             highWatermark |-> highWatermark, parked |-> {Waiting(end) : end \\in parked}]
"""

QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        "IsWaitedFor": Question("{}HighWatermarkBound(1, row)", _ANY_LEADER),
        "ParkedError": Question("{}AdvanceAndFinish(1, row, {{}})", _LEADER_THAT_IS_WAITED_FOR),
    }
)
"""By decision of PartitionRules: what asks it, and for which rows."""

_BODY = """
Mutant == INSTANCE {asking}
VARIABLE row
{domain}{init}
Next == UNCHANGED row
Same == {correct} = {mutant}
"""
_CFG = """
INIT Init
NEXT Next
CONSTANTS
  Replicas <- Three
  MinInsyncReplicas = 2
  ElrEnabled = TRUE
  UncleanElection = FALSE
  FetchMaxRecords = 1
INVARIANT Same
"""


def compare(mutant: Mutant, manifest: Manifest, folder: Path, options: RunOptions) -> TlcResult:
    """TLC's verdict on "the same for every row"; `folder` is for the modules with the mutant.

    Raises KeyError: nothing asks this decision in QUESTIONS; ToolError: TLC cannot be run.
    """
    question = QUESTIONS[mutant.operator]
    for name, text in _twins(mutant, manifest).items():
        (folder / f"{name}.tla").write_text(text, encoding="utf-8")
    body = _BODY.format(
        asking=ASKING + TWIN,
        domain=_DOMAIN,
        init=question.init,
        correct=question.asked.format(""),
        mutant=question.asked.format("Mutant!"),
    )
    job = TlcJob(
        module=root_module("SameAnswers", [ASKING], body),
        cfg=_CFG,
        libraries=[*manifest.libraries, folder],
        timeout_s=300.0,
        deadlock=False,
        java=options.java,
        jar=options.jar,
    )
    return run_tlc(job)


def _twins(mutant: Mutant, manifest: Manifest) -> dict[str, str]:
    """The two modules, under other names, with the mutant in the place of its decision."""
    rules = manifest.module_text(mutant.module)
    asking = manifest.module_text(ASKING)
    correct = next(each.text for each in definitions(rules) if each.name == mutant.operator)
    changed = mutant.definition.replace(f"Mutant_{mutant.operator}", mutant.operator, 1)
    rules = rules.replace(correct, changed, 1)
    return {
        each + TWIN: text.replace(mutant.module, mutant.module + TWIN).replace(
            f"MODULE {each} ", f"MODULE {each}{TWIN} ", 1
        )
        for each, text in ((mutant.module, rules), (ASKING, asking))
    }
