------------------------- MODULE DeposedController -------------------------
(***************************************************************************)
(* The responses of a replaced controller that does not know it (C0;        *)
(* Kafka's QuorumController.ControllerWriteEvent). It takes the             *)
(* controller's steps in its own row, which is the controller's row at the  *)
(* replacement. Nothing that it writes is committed. So it answers requests *)
(* without writes, and after its first write it answers nothing, because a  *)
(* response waits for all earlier writes.                                   *)
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

(* `Step` of the controller, taken by the deposed one.                      *)
StepOfDeposed(Step(_, _, _), deposed, input) ==
  {LET writes == RecordsIn(outcome.sent) # {}
       answers == outcome.sent \ RecordsIn(outcome.sent)
   IN [row |-> IF writes THEN Silenced ELSE [deposed EXCEPT !.row = outcome.row],
       sent |-> IF writes /\ ~AnswersBeforeCommit THEN {} ELSE answers] :
     outcome \in IF deposed.knows = "Nothing" THEN Step(Controller, deposed.row, input)
                 ELSE Disabled}
=============================================================================
