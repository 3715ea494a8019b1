--------------------------- MODULE RefusePartition --------------------------
(***************************************************************************)
(* The frame in which attempted moves of brokers are judged, as             *)
(* RefuseQuorum is for voters: a step is as in StepPartition; where the     *)
(* reference found the input disabled, the spec must have no outcome.       *)
(* A broker that is down is delivered nothing (LiftMessages, LiftRequest).  *)
(***************************************************************************)
EXTENDS BrokerLifecycle

NoOutcome == "(disabled)"

Steps == INSTANCE StepPartition

IsMessage(input) == "destination" \in DOMAIN input

OutcomesOf(step) ==
  IF IsMessage(step.input) /\ ~IsUp(step.before) THEN {}
  ELSE Steps!StepOf(step.action, step.node, step.before, step.input)

Allowed(step) ==
  IF step.ignored = NoOutcome THEN OutcomesOf(step) = {}
  ELSE [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored] \in OutcomesOf(step)

Outcomes(step) ==
  IF OutcomesOf(step) = {} THEN {[ignored |-> NoOutcome]}
  ELSE {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
          outcome \in OutcomesOf(step)}
=============================================================================
