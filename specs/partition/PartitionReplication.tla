------------------------ MODULE PartitionReplication ------------------------
(***************************************************************************)
(* One partition as a whole: a row for each broker, the controller's row,   *)
(* the log of committed metadata, and a network.  One lifting operator      *)
(* turns the handlers into actions.  Bounds, budgets and fairness belong to *)
(* models/ (L4).                                                            *)
(*                                                                          *)
(* The metadata log is abstract: records are committed when they are        *)
(* written, and each broker reads them in order, at its own pace. The       *)
(* controller quorum provides such a log, because it refines CommittedLog.  *)
(***************************************************************************)
EXTENDS BrokerLifecycle, PartitionController, Network

VARIABLES
  rows,         \* rows[b]: the whole state of broker b
  controller,   \* the controller's row
  metadata,     \* the committed metadata records, from InitialOffset on
  network       \* every message ever sent

RecordsIn(sent) == {m \in sent : m.type = "MetadataRecords"}

AppendedTo(log, sent) ==
  IF RecordsIn(sent) = {} THEN log
  ELSE log \o (CHOOSE m \in RecordsIn(sent) : TRUE).records

(* The one lifting operator: a handler becomes an action of the system.     *)
Lift(Step(_, _, _), n, input) ==
  \E outcome \in Step(n, rows[n], input) :
    /\ rows' = [rows EXCEPT ![n] = outcome.row]
    /\ network' = WithSent(network, outcome.sent)
    /\ UNCHANGED <<controller, metadata>>

LiftController(Step(_, _, _), input) ==
  \E outcome \in Step(Controller, controller, input) :
    /\ controller' = outcome.row
    /\ metadata' = AppendedTo(metadata, outcome.sent)
    /\ network' = WithSent(network, outcome.sent \ RecordsIn(outcome.sent))
    /\ UNCHANGED rows

LiftMessages(Step(_, _, _), n, type) ==
  /\ IsUp(rows[n])
  /\ \E m \in Deliverable(network, n, type) : Lift(Step, n, m)

LiftControllerMessages(Step(_, _, _), type) ==
  \E m \in Deliverable(network, Controller, type) : LiftController(Step, m)

(* Controller.                                                              *)
HandleRegisterBrokerRequest ==
  LiftControllerMessages(Step_HandleRegisterBrokerRequest, "RegisterBrokerRequest")
HandleHeartbeatRequest ==
  LiftControllerMessages(Step_HandleHeartbeatRequest, "HeartbeatRequest")
HandleAlterPartitionRequest ==
  LiftControllerMessages(Step_HandleAlterPartitionRequest, "AlterPartitionRequest")
HandleSessionTimeout(b) ==
  LiftController(Step_HandleSessionTimeout, [type |-> "SessionTimeout", broker |-> b])
HandleElectLeaders(election) ==
  LiftController(Step_HandleElectLeaders, [type |-> "ElectLeaders", election |-> election])
HandleControllerFailover ==
  LiftController(Step_HandleControllerFailover, [type |-> "ControllerFailover"])

(* Brokers: life.                                                           *)
(* Metadata up to any committed offset may arrive at once.                  *)
HandleMetadataUpdate(n) ==
  \E end \in (rows[n].image.offset + 1)..(InitialOffset + Len(metadata)) :
    Lift(Step_HandleMetadataUpdate, n,
         [type |-> "MetadataUpdate", offset |-> rows[n].image.offset,
          records |-> SubSeq(metadata, rows[n].image.offset - InitialOffset + 1,
                             end - InitialOffset)])
HandleSendRegistration(n) ==
  Lift(Step_HandleSendRegistration, n, [type |-> "SendRegistration"])
HandleRegisterBrokerResponse(n) ==
  LiftMessages(Step_HandleRegisterBrokerResponse, n, "RegisterBrokerResponse")
HandleSendHeartbeat(n) == Lift(Step_HandleSendHeartbeat, n, [type |-> "SendHeartbeat"])
HandleHeartbeatResponse(n) ==
  LiftMessages(Step_HandleHeartbeatResponse, n, "HeartbeatResponse")
HandleControllerRequestTimeout(n) ==
  \E request \in {rows[n].controllerRequest, rows[n].alterRequest} :
    Lift(Step_HandleControllerRequestTimeout, n,
         [type |-> "ControllerRequestTimeout", request |-> request])
HandleControlledShutdown(n) ==
  Lift(Step_HandleControlledShutdown, n, [type |-> "ControlledShutdown"])
HandleBrokerCrash(n, keep, corrupt) ==
  Lift(Step_HandleBrokerCrash, n,
       [type |-> "BrokerCrash", keep |-> keep, corrupt |-> corrupt])
HandleBrokerRestart(n) == Lift(Step_HandleBrokerRestart, n, [type |-> "BrokerRestart"])

(* Brokers: the ISR.                                                        *)
HandleReplicaLagTimeout(n, r) ==
  Lift(Step_HandleReplicaLagTimeout, n, [type |-> "ReplicaLagTimeout", replica |-> r])
HandleIsrShrinkTimeout(n) == Lift(Step_HandleIsrShrinkTimeout, n, [type |-> "IsrShrinkTimeout"])
HandleSendAlterPartition(n) ==
  Lift(Step_HandleSendAlterPartition, n, [type |-> "SendAlterPartition"])
HandleAlterPartitionResponse(n) ==
  LiftMessages(Step_HandleAlterPartitionResponse, n, "AlterPartitionResponse")

(* Brokers: data.                                                           *)
(* A client's request, as the network would deliver it.                     *)
LiftRequest(Step(_, _, _), n, request) == IsUp(rows[n]) /\ Lift(Step, n, request)
HandleProduceRequest(n, request) == LiftRequest(Step_HandleProduceRequest, n, request)
HandleProduceTimeout(n) ==
  \E p \in rows[n].parked :
    Lift(Step_HandleProduceTimeout, n, [type |-> "ProduceTimeout", request |-> p.request])
HandleSendReplicaFetch(n) ==
  Lift(Step_HandleSendReplicaFetch, n, [type |-> "SendReplicaFetch"])
HandleReplicaFetchRequest(n) ==
  LiftMessages(Step_HandleReplicaFetchRequest, n, "ReplicaFetchRequest")
HandleReplicaFetchResponse(n) ==
  LiftMessages(Step_HandleReplicaFetchResponse, n, "ReplicaFetchResponse")
HandleReplicaFetchTimeout(n) ==
  \E m \in rows[n].fetching :
    Lift(Step_HandleReplicaFetchTimeout, n, [type |-> "ReplicaFetchTimeout", request |-> m])
HandleConsumerFetchRequest(n, request) ==
  LiftRequest(Step_HandleConsumerFetchRequest, n, request)
HandleListOffsetsRequest(n, request) ==
  LiftRequest(Step_HandleListOffsetsRequest, n, request)
HandleDeleteRecordsRequest(n, request) ==
  LiftRequest(Step_HandleDeleteRecordsRequest, n, request)
HandleBrokerFlush(n) == Lift(Step_HandleBrokerFlush, n, [type |-> "BrokerFlush"])
HandleCheckpointHighWatermark(n) ==
  Lift(Step_HandleCheckpointHighWatermark, n, [type |-> "CheckpointHighWatermark"])

Init ==
  /\ rows = [n \in Brokers |-> InitialRow(n)]
  /\ controller = InitialController
  /\ metadata = <<>>
  /\ network = EmptyNetwork
=============================================================================
