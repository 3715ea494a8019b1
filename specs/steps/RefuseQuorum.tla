---------------------------- MODULE RefuseQuorum ----------------------------
(***************************************************************************)
(* The frame in which attempted moves are judged, refused ones among them.  *)
(* A step is as in StepQuorum; where the reference found the input disabled *)
(* it says so in `ignored`, and then the spec must have no outcome either.  *)
(* A node that is down or halted is delivered nothing (LiftMessages).       *)
(***************************************************************************)
EXTENDS QuorumHandlers

Disabled == "(disabled)"

Steps == INSTANCE StepQuorum

IsMessage(input) == "destination" \in DOMAIN input

OutcomesOf(step) ==
  IF IsMessage(step.input) /\ ~Running(step.before) THEN {}
  ELSE Steps!StepOf(step.action, step.node, step.before, step.input)

Allowed(step) ==
  IF step.ignored = Disabled THEN OutcomesOf(step) = {}
  ELSE [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored] \in OutcomesOf(step)

Outcomes(step) ==
  IF OutcomesOf(step) = {} THEN {[ignored |-> Disabled]}
  ELSE {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
          outcome \in OutcomesOf(step)}
=============================================================================
