---------------------- MODULE StepPartitionController -----------------------
(***************************************************************************)
(* The frame in which the controller's part of a recorded run is judged:    *)
(* each committed batch of metadata records, with the input that caused it  *)
(* and the reply to it, is a step of the abstract controller from what the  *)
(* records before it imply.  The node of such a step is Controller.         *)
(***************************************************************************)
EXTENDS PartitionController

(* A run begins with a step "Init".                                         *)
Step_Init(c, row, input) == {[row |-> InitialController, sent |-> {}, ignored |-> ""]}

StepOf(action, c, row, input) ==
  CASE action = "Init" -> Step_Init(c, row, input)
    [] action = "HandleRegisterBrokerRequest" ->
         Step_HandleRegisterBrokerRequest(c, row, input)
    [] action = "HandleHeartbeatRequest" -> Step_HandleHeartbeatRequest(c, row, input)
    [] action = "HandleSessionTimeout" -> Step_HandleSessionTimeout(c, row, input)
    [] action = "HandleAlterPartitionRequest" ->
         Step_HandleAlterPartitionRequest(c, row, input)
    [] action = "HandleElectLeaders" -> Step_HandleElectLeaders(c, row, input)
    [] action = "HandleControllerFailover" -> Step_HandleControllerFailover(c, row, input)

Allowed(step) ==
  [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored]
    \in StepOf(step.action, step.node, step.before, step.input)

(* For the diagnosis of a rejected step: what would have been allowed.      *)
Outcomes(step) ==
  {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
     outcome \in StepOf(step.action, step.node, step.before, step.input)}
=============================================================================
