--------------------------- MODULE PartitionCover ---------------------------
(***************************************************************************)
(* The asynchronous composition of a partition as a finite graph, to be     *)
(* dumped and covered edge by edge, as QuorumCover is for the quorum: no    *)
(* history, no VIEW, no SYMMETRY, no CONSTRAINT.  A state of the graph is   *)
(* the brokers' rows, the controller's, the metadata log, the network and   *)
(* what has been spent.  Its Python twin: reference/partition/cover.        *)
(***************************************************************************)
EXTENDS PartitionReplication

CONSTANTS
  Moves,              \* the actions that may happen, by name
  Led,                \* whether a leader that everybody knows is there at first
  AcksAll, Idempotent,                 \* how clients produce
  MaxLeaderEpoch, MaxPartitionEpoch,   \* no step of the controller may lead beyond these
  MaxOffset,          \* nor the metadata log beyond this offset
  MaxElections,       \* ElectLeaders
  MaxRecords,         \* ProduceRequest, one record each
  MaxReads,           \* ConsumerFetchRequest, ListOffsetsRequest
  MaxDeletes,         \* DeleteRecordsRequest
  MaxCrashes,         \* BrokerCrash; restarts are free
  MaxFences,          \* SessionTimeout
  MaxStops,           \* ControlledShutdown
  MaxFailovers,       \* ControllerFailover
  MaxTimeouts         \* ReplicaFetchTimeout, ControllerRequestTimeout, ProduceTimeout

VARIABLE spent        \* how much of each budget has been used

One == <<0>>
Two == <<0, 1>>
Three == <<0, 1, 2>>

Limit ==
  [elections |-> MaxElections, records |-> MaxRecords, reads |-> MaxReads,
   deletes |-> MaxDeletes, crashes |-> MaxCrashes, fences |-> MaxFences, stops |-> MaxStops,
   failovers |-> MaxFailovers, timeouts |-> MaxTimeouts]

(* As a cluster begins; or after the first election, of which everybody has *)
(* been told.                                                               *)
LedInit ==
  /\ \E elected \in Step_HandleElectLeaders(Controller, InitialController,
                                            [election |-> "ONLINE"]) :
       LET records == AppendedTo(<<>>, elected.sent)
           told(n) == CHOOSE o \in Step_HandleMetadataUpdate(n, InitialRow(n),
                                     [offset |-> InitialOffset, records |-> records]) : TRUE
       IN /\ controller = elected.row
          /\ metadata = records
          /\ rows = [n \in Brokers |-> told(n).row]
  /\ network = EmptyNetwork

CoverInit ==
  /\ IF Led THEN LedInit ELSE Init
  /\ spent = [budget \in DOMAIN Limit |-> 0]

Within ==
  /\ controller'.partition.leaderEpoch <= MaxLeaderEpoch
  /\ controller'.partition.partitionEpoch <= MaxPartitionEpoch
  /\ controller'.offset <= MaxOffset

Enabled(action) == action \in Moves

Free == UNCHANGED spent /\ Within

Spend(budget) ==
  /\ spent[budget] < Limit[budget]
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]
  /\ Within

Elections == {"PREFERRED", "ONLINE", "UNCLEAN"}

(* What clients ask.  The first client has the number 0, and the first      *)
(* producer too.                                                            *)
Produce(n, count) ==
  [type |-> "ProduceRequest", source |-> Clients, destination |-> n, client |-> 0,
   acks |-> IF AcksAll THEN -1 ELSE 1, values |-> <<count + 1>>,
   producer |-> IF Idempotent THEN 0 ELSE Undefined,
   producerEpoch |-> IF Idempotent THEN 0 ELSE Undefined,
   sequence |-> IF Idempotent THEN count ELSE Undefined]

ConsumerFetch(n, offset, fromFollower) ==
  [type |-> "ConsumerFetchRequest", source |-> Clients, destination |-> n, client |-> 0,
   epoch |-> Undefined, fetchOffset |-> offset, fromFollower |-> fromFollower]

ListOffsets(n, timestamp) ==
  [type |-> "ListOffsetsRequest", source |-> Clients, destination |-> n, client |-> 0,
   epoch |-> Undefined, timestamp |-> timestamp]

DeleteRecords(n, offset) ==
  [type |-> "DeleteRecordsRequest", source |-> Clients, destination |-> n, client |-> 0,
   offset |-> offset]

Move_HandleMetadataUpdate(n) ==
  Enabled("HandleMetadataUpdate") /\ HandleMetadataUpdate(n) /\ Free
Move_HandleSendReplicaFetch(n) ==
  Enabled("HandleSendReplicaFetch") /\ HandleSendReplicaFetch(n) /\ Free
Move_HandleReplicaFetchRequest(n) ==
  Enabled("HandleReplicaFetchRequest") /\ HandleReplicaFetchRequest(n) /\ Free
Move_HandleReplicaFetchResponse(n) ==
  Enabled("HandleReplicaFetchResponse") /\ HandleReplicaFetchResponse(n) /\ Free
Move_HandleReplicaFetchTimeout(n) ==
  Enabled("HandleReplicaFetchTimeout") /\ HandleReplicaFetchTimeout(n) /\ Spend("timeouts")
Move_HandleReplicaLagTimeout(n) ==
  /\ Enabled("HandleReplicaLagTimeout")
  /\ \E r \in Brokers \ {n} : HandleReplicaLagTimeout(n, r)
  /\ Free
Move_HandleIsrShrinkTimeout(n) ==
  Enabled("HandleIsrShrinkTimeout") /\ HandleIsrShrinkTimeout(n) /\ Free
Move_HandleSendAlterPartition(n) ==
  Enabled("HandleSendAlterPartition") /\ HandleSendAlterPartition(n) /\ Free
Move_HandleAlterPartitionResponse(n) ==
  Enabled("HandleAlterPartitionResponse") /\ HandleAlterPartitionResponse(n) /\ Free
Move_HandleProduceRequest(n) ==
  /\ Enabled("HandleProduceRequest") /\ IsLeader(rows[n])
  /\ HandleProduceRequest(n, Produce(n, spent.records)) /\ Spend("records")
Move_HandleProduceTimeout(n) ==
  Enabled("HandleProduceTimeout") /\ HandleProduceTimeout(n) /\ Spend("timeouts")
Move_HandleConsumerFetchRequest(n) ==
  /\ Enabled("HandleConsumerFetchRequest")
  /\ \E offset \in 0..(EndOffset(rows[n].log) + 1), fromFollower \in BOOLEAN :
       HandleConsumerFetchRequest(n, ConsumerFetch(n, offset, fromFollower))
  /\ Spend("reads")
Move_HandleListOffsetsRequest(n) ==
  /\ Enabled("HandleListOffsetsRequest")
  /\ \E timestamp \in {"Latest", "Earliest"} :
       HandleListOffsetsRequest(n, ListOffsets(n, timestamp))
  /\ Spend("reads")
Move_HandleDeleteRecordsRequest(n) ==
  /\ Enabled("HandleDeleteRecordsRequest")
  /\ \E offset \in 0..EndOffset(rows[n].log) :
       HandleDeleteRecordsRequest(n, DeleteRecords(n, offset))
  /\ Spend("deletes")
Move_HandleSendHeartbeat(n) ==
  Enabled("HandleSendHeartbeat") /\ HandleSendHeartbeat(n) /\ Free
Move_HandleHeartbeatResponse(n) ==
  Enabled("HandleHeartbeatResponse") /\ HandleHeartbeatResponse(n) /\ Free
Move_HandleSendRegistration(n) ==
  Enabled("HandleSendRegistration") /\ HandleSendRegistration(n) /\ Free
Move_HandleRegisterBrokerResponse(n) ==
  Enabled("HandleRegisterBrokerResponse") /\ HandleRegisterBrokerResponse(n) /\ Free
Move_HandleControllerRequestTimeout(n) ==
  /\ Enabled("HandleControllerRequestTimeout")
  /\ HandleControllerRequestTimeout(n) /\ Spend("timeouts")
Move_HandleControlledShutdown(n) ==
  Enabled("HandleControlledShutdown") /\ HandleControlledShutdown(n) /\ Spend("stops")
Move_HandleBrokerCrash(n) ==
  /\ Enabled("HandleBrokerCrash")
  /\ \E keep \in 0..EndOffset(rows[n].log) : HandleBrokerCrash(n, keep, Undefined)
  /\ Spend("crashes")
Move_HandleBrokerRestart(n) ==
  Enabled("HandleBrokerRestart") /\ HandleBrokerRestart(n) /\ Free
Move_HandleBrokerFlush(n) ==
  Enabled("HandleBrokerFlush") /\ HandleBrokerFlush(n) /\ Free
Move_HandleCheckpointHighWatermark(n) ==
  Enabled("HandleCheckpointHighWatermark") /\ HandleCheckpointHighWatermark(n) /\ Free

Move_HandleAlterPartitionRequest ==
  Enabled("HandleAlterPartitionRequest") /\ HandleAlterPartitionRequest /\ Free
Move_HandleHeartbeatRequest ==
  Enabled("HandleHeartbeatRequest") /\ HandleHeartbeatRequest /\ Free
Move_HandleRegisterBrokerRequest ==
  Enabled("HandleRegisterBrokerRequest") /\ HandleRegisterBrokerRequest /\ Free
Move_HandleSessionTimeout ==
  /\ Enabled("HandleSessionTimeout")
  /\ \E b \in Brokers : HandleSessionTimeout(b)
  /\ Spend("fences")
Move_HandleElectLeaders ==
  /\ Enabled("HandleElectLeaders")
  /\ \E election \in Elections : HandleElectLeaders(election)
  /\ Spend("elections")
Move_HandleControllerFailover ==
  Enabled("HandleControllerFailover") /\ HandleControllerFailover /\ Spend("failovers")

CoverNext ==
  \/ \E n \in Brokers :
       \/ Move_HandleMetadataUpdate(n) \/ Move_HandleSendReplicaFetch(n)
       \/ Move_HandleReplicaFetchRequest(n) \/ Move_HandleReplicaFetchResponse(n)
       \/ Move_HandleReplicaFetchTimeout(n) \/ Move_HandleReplicaLagTimeout(n)
       \/ Move_HandleIsrShrinkTimeout(n) \/ Move_HandleSendAlterPartition(n)
       \/ Move_HandleAlterPartitionResponse(n) \/ Move_HandleProduceRequest(n)
       \/ Move_HandleProduceTimeout(n) \/ Move_HandleConsumerFetchRequest(n)
       \/ Move_HandleListOffsetsRequest(n) \/ Move_HandleDeleteRecordsRequest(n)
       \/ Move_HandleSendHeartbeat(n) \/ Move_HandleHeartbeatResponse(n)
       \/ Move_HandleSendRegistration(n) \/ Move_HandleRegisterBrokerResponse(n)
       \/ Move_HandleControllerRequestTimeout(n) \/ Move_HandleControlledShutdown(n)
       \/ Move_HandleBrokerCrash(n) \/ Move_HandleBrokerRestart(n)
       \/ Move_HandleBrokerFlush(n) \/ Move_HandleCheckpointHighWatermark(n)
  \/ Move_HandleAlterPartitionRequest \/ Move_HandleHeartbeatRequest
  \/ Move_HandleRegisterBrokerRequest \/ Move_HandleSessionTimeout
  \/ Move_HandleElectLeaders \/ Move_HandleControllerFailover
=============================================================================
