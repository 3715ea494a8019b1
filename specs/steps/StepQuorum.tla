----------------------------- MODULE StepQuorum -----------------------------
(***************************************************************************)
(* The frame in which recorded steps of the quorum are judged.  A step is a *)
(* record of action, node, before, input, after, sent and ignored; it is    *)
(* allowed iff the spec's own handler has exactly that outcome (L6).  The   *)
(* generated root module extends this one and holds the steps.              *)
(***************************************************************************)
EXTENDS QuorumHandlers

(* A run begins with a step "Init" for every node: its first row is initial.*)
Step_Init(n, row, input) == {[row |-> InitialRow(n), sent |-> {}, ignored |-> ""]}

StepOf(action, n, row, input) ==
  CASE action = "Init" -> Step_Init(n, row, input)
    [] action = "HandleVoteRequest" -> Step_HandleVoteRequest(n, row, input)
    [] action = "HandleVoteResponse" -> Step_HandleVoteResponse(n, row, input)
    [] action = "HandleBeginQuorumEpochRequest" ->
         Step_HandleBeginQuorumEpochRequest(n, row, input)
    [] action = "HandleBeginQuorumEpochResponse" ->
         Step_HandleBeginQuorumEpochResponse(n, row, input)
    [] action = "HandleEndQuorumEpochRequest" -> Step_HandleEndQuorumEpochRequest(n, row, input)
    [] action = "HandleEndQuorumEpochResponse" ->
         Step_HandleEndQuorumEpochResponse(n, row, input)
    [] action = "HandleFetchRequest" -> Step_HandleFetchRequest(n, row, input)
    [] action = "HandleFetchResponse" -> Step_HandleFetchResponse(n, row, input)
    [] action = "HandleFetchMaxWait" -> Step_HandleFetchMaxWait(n, row, input)
    [] action = "HandleAppend" -> Step_HandleAppend(n, row, input)
    [] action = "HandleFlush" -> Step_HandleFlush(n, row, input)
    [] action = "HandleElectionTimeout" -> Step_HandleElectionTimeout(n, row, input)
    [] action = "HandleFetchTimeout" -> Step_HandleFetchTimeout(n, row, input)
    [] action = "HandleBeginQuorumEpochTimeout" ->
         Step_HandleBeginQuorumEpochTimeout(n, row, input)
    [] action = "HandleCheckQuorumTimeout" -> Step_HandleCheckQuorumTimeout(n, row, input)
    [] action = "HandleResign" -> Step_HandleResign(n, row, input)
    [] action = "HandleRequestTimeout" -> Step_HandleRequestTimeout(n, row, input)
    [] action = "HandleCrash" -> Step_HandleCrash(n, row, input)
    [] action = "HandleRestart" -> Step_HandleRestart(n, row, input)

Allowed(step) ==
  [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored]
    \in StepOf(step.action, step.node, step.before, step.input)

(* For the diagnosis of a rejected step: what would have been allowed.      *)
Outcomes(step) ==
  {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
     outcome \in StepOf(step.action, step.node, step.before, step.input)}
=============================================================================
