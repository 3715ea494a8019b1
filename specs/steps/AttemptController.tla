-------------------------- MODULE AttemptController -------------------------
(***************************************************************************)
(* The frame in which attempts on the partition's controller are judged, as *)
(* AttemptPartition is for brokers.                                         *)
(***************************************************************************)
EXTENDS PartitionController

IsDisabled == "(disabled)"

Steps == INSTANCE StepPartitionController

OutcomesOf(step) == Steps!StepOf(step.action, step.node, step.before, step.input)

Allowed(step) ==
  IF step.ignored = IsDisabled THEN OutcomesOf(step) = {}
  ELSE [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored] \in OutcomesOf(step)

Outcomes(step) ==
  IF OutcomesOf(step) = {} THEN {[ignored |-> IsDisabled]}
  ELSE {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
          outcome \in OutcomesOf(step)}
=============================================================================
