---------------------- MODULE RefusePartitionController ---------------------
(***************************************************************************)
(* The frame in which attempted moves of the controller are judged, as      *)
(* RefusePartition is for brokers.                                          *)
(***************************************************************************)
EXTENDS PartitionController

NoOutcome == "(disabled)"

Steps == INSTANCE StepPartitionController

OutcomesOf(step) == Steps!StepOf(step.action, step.node, step.before, step.input)

Allowed(step) ==
  IF step.ignored = NoOutcome THEN OutcomesOf(step) = {}
  ELSE [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored] \in OutcomesOf(step)

Outcomes(step) ==
  IF OutcomesOf(step) = {} THEN {[ignored |-> NoOutcome]}
  ELSE {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
          outcome \in OutcomesOf(step)}
=============================================================================
