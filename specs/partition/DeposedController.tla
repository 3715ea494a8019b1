------------------------- MODULE DeposedController -------------------------
(***************************************************************************)
(* What a controller still says that was replaced and has not heard of it   *)
(* (C0; Kafka's QuorumController.ControllerWriteEvent).  It takes the steps *)
(* of the controller in a row of its own, which is the controller's as it   *)
(* was when that was deposed.  Nothing that it writes is committed; so it   *)
(* answers what needs no write, and from its first write on nothing, since  *)
(* an answer waits for all that was written before it.                      *)
(*                                                                          *)
(* Left out: that Kafka refuses at once what it refuses by an exception     *)
(* (STALE_BROKER_EPOCH, DUPLICATE_BROKER_REGISTRATION), whatever is not     *)
(* committed yet.                                                           *)
(***************************************************************************)
EXTENDS PartitionReplication

(***************************************************************************)
(*   knows   NotYet: nobody was deposed; Nothing: it has not heard of its   *)
(*           successor; Silent: it has written, or has heard                *)
(*   row     the controller's, as it was                                    *)
(*   left    the brokers that have asked its successor                      *)
(***************************************************************************)
NobodyDeposed == [knows |-> "NotYet", row |-> InitialController, left |-> {}]

DeposedOf(row) == [NobodyDeposed EXCEPT !.knows = "Nothing", !.row = row]

Silenced == [NobodyDeposed EXCEPT !.knows = "Silent"]

(* `Step` of the controller, taken by who was deposed.                      *)
StepOfDeposed(Step(_, _, _), deposed, input) ==
  {LET writes == RecordsIn(outcome.sent) # {}
       answers == outcome.sent \ RecordsIn(outcome.sent)
   IN [row |-> IF writes THEN Silenced ELSE [deposed EXCEPT !.row = outcome.row],
       sent |-> IF writes /\ ~AnswersBeforeCommit THEN {} ELSE answers] :
     outcome \in IF deposed.knows = "Nothing" THEN Step(Controller, deposed.row, input)
                 ELSE Disabled}
=============================================================================
