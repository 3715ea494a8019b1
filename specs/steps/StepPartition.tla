--------------------------- MODULE StepPartition ----------------------------
(***************************************************************************)
(* The frame in which recorded steps of brokers are judged, as StepQuorum   *)
(* is for voters: a step is allowed iff the spec's own handler has exactly  *)
(* that outcome (L6).  A broker's row is projected to one partition.        *)
(***************************************************************************)
EXTENDS BrokerLifecycle

(* A run begins with a step "Init" for every broker.                        *)
Step_Init(n, row, input) == {[row |-> InitialRow(n), sent |-> {}, ignored |-> ""]}

(* A step may be recorded with the case that its handler was in.  It is then *)
(* judged by that case alone, and on no more fields than that mentions; in   *)
(* another case it is refused.                                               *)
Step_HandleMetadataUpdate_Aside(n, row, input) ==
  IF TouchesPartition(row, input) THEN Disabled ELSE ApplyAlone(row, input)

Step_HandleHeartbeatResponse_Unmoved(n, row, m) ==
  IF MayMove(row, m) THEN Disabled ELSE NoteHeartbeat(row, m)

Step_HandleReplicaFetchResponse_Unused(n, row, m) ==
  IF MayChangeLog(row, m) THEN Disabled ELSE NoteFetched(row, m)

StepOf(action, n, row, input) ==
  CASE action = "Init" -> Step_Init(n, row, input)
    [] action = "HandleMetadataUpdate_Aside" ->
         Step_HandleMetadataUpdate_Aside(n, row, input)
    [] action = "HandleHeartbeatResponse_Unmoved" ->
         Step_HandleHeartbeatResponse_Unmoved(n, row, input)
    [] action = "HandleReplicaFetchResponse_Unused" ->
         Step_HandleReplicaFetchResponse_Unused(n, row, input)
    [] action = "HandleMetadataUpdate" -> Step_HandleMetadataUpdate(n, row, input)
    [] action = "HandleSendRegistration" -> Step_HandleSendRegistration(n, row, input)
    [] action = "HandleRegisterBrokerResponse" ->
         Step_HandleRegisterBrokerResponse(n, row, input)
    [] action = "HandleSendHeartbeat" -> Step_HandleSendHeartbeat(n, row, input)
    [] action = "HandleHeartbeatResponse" -> Step_HandleHeartbeatResponse(n, row, input)
    [] action = "HandleControlledShutdown" -> Step_HandleControlledShutdown(n, row, input)
    [] action = "HandleControllerRequestTimeout" ->
         Step_HandleControllerRequestTimeout(n, row, input)
    [] action = "HandleBrokerCrash" -> Step_HandleBrokerCrash(n, row, input)
    [] action = "HandleBrokerRestart" -> Step_HandleBrokerRestart(n, row, input)
    [] action = "HandleReplicaLagTimeout" -> Step_HandleReplicaLagTimeout(n, row, input)
    [] action = "HandleIsrShrinkTimeout" -> Step_HandleIsrShrinkTimeout(n, row, input)
    [] action = "HandleSendAlterPartition" -> Step_HandleSendAlterPartition(n, row, input)
    [] action = "HandleAlterPartitionResponse" ->
         Step_HandleAlterPartitionResponse(n, row, input)
    [] action = "HandleProduceRequest" -> Step_HandleProduceRequest(n, row, input)
    [] action = "HandleProduceTimeout" -> Step_HandleProduceTimeout(n, row, input)
    [] action = "HandleReplicaFetchRequest" ->
         Step_HandleReplicaFetchRequest(n, row, input)
    [] action = "HandleSendReplicaFetch" -> Step_HandleSendReplicaFetch(n, row, input)
    [] action = "HandleReplicaFetchResponse" ->
         Step_HandleReplicaFetchResponse(n, row, input)
    [] action = "HandleReplicaFetchTimeout" ->
         Step_HandleReplicaFetchTimeout(n, row, input)
    [] action = "HandleConsumerFetchRequest" ->
         Step_HandleConsumerFetchRequest(n, row, input)
    [] action = "HandleListOffsetsRequest" -> Step_HandleListOffsetsRequest(n, row, input)
    [] action = "HandleDeleteRecordsRequest" ->
         Step_HandleDeleteRecordsRequest(n, row, input)
    [] action = "HandleBrokerFlush" -> Step_HandleBrokerFlush(n, row, input)
    [] action = "HandleCheckpointHighWatermark" ->
         Step_HandleCheckpointHighWatermark(n, row, input)

Allowed(step) ==
  [row |-> step.after, sent |-> step.sent, ignored |-> step.ignored]
    \in StepOf(step.action, step.node, step.before, step.input)

(* For the diagnosis of a rejected step: what would have been allowed.      *)
Outcomes(step) ==
  {[after |-> outcome.row, sent |-> outcome.sent, ignored |-> outcome.ignored] :
     outcome \in StepOf(step.action, step.node, step.before, step.input)}
=============================================================================
