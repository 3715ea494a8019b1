-------------------------- MODULE AttemptPartition --------------------------
(***************************************************************************)
(* The frame in which attempts on a broker are judged, as RefuseQuorum is   *)
(* for voters: inputs that no run had in this row.  A step is as in         *)
(* StepPartition; where the reference found the input disabled it says so   *)
(* in `ignored`, and then the spec must have no outcome either.             *)
(* A broker that is down is delivered nothing (LiftMessages).               *)
(***************************************************************************)
EXTENDS BrokerLifecycle

IsDisabled == "(disabled)"

Steps == INSTANCE StepPartition

IsMessage(input) == "destination" \in DOMAIN input

OutcomesOf(step) ==
  IF IsMessage(step.input) /\ ~IsUp(step.before) THEN {}
  ELSE Steps!StepOf(step.action, step.node, step.before, step.input)

Allowed(step) ==
  IF step.ignored = IsDisabled THEN OutcomesOf(step) = {}
  ELSE [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored] \in OutcomesOf(step)

Outcomes(step) ==
  IF OutcomesOf(step) = {} THEN {[ignored |-> IsDisabled]}
  ELSE {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
          outcome \in OutcomesOf(step)}
=============================================================================
