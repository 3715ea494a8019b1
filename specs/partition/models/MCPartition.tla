----------------------------- MODULE MCPartition -----------------------------
(***************************************************************************)
(* The asynchronous composition of a partition: every message is a message, *)
(* in a network that never forgets, and metadata is a log that each broker  *)
(* reads at its own pace.  Bounds live here and nowhere else (L4); each     *)
(* model asks one question: `Moves` names the actions that may happen.      *)
(* "Unfence" is the heartbeats of brokers that are fenced: those of others  *)
(* only renew a session.  "Once" is no action: a fetch, a registration, a   *)
(* heartbeat and their answers then arrive once at most, as on a connection.*)
(*                                                                          *)
(* One channel is better than the network: AlterPartition arrives once, or  *)
(* never when its sender has given it up (AlterOnce).  Without that the     *)
(* protocol is not safe: a copy of a proposal that was refused, and so      *)
(* forgotten by the leader, may be accepted later                           *)
(* (docs/reference/decisions.md).                                           *)
(***************************************************************************)
EXTENDS PartitionProperties, TLC

CONSTANTS
  b1, b2, b3,
  MaxLeaderEpoch, MaxPartitionEpoch, MaxRecords, MaxCrashes, MaxFences, MaxTimeouts,
  AcksAll, AlterOnce, Moves

VARIABLE spent

mcVars == <<rows, controller, metadata, network, committed, acked, spent>>

One == <<b1>>
Two == <<b1, b2>>
Three == <<b1, b2, b3>>
Symmetry == Permutations(Brokers)
AnyChoice(candidates) == candidates
AnyOtherChoice(partition, valid) == valid \ {partition.leader}
NoBroker == -9

(* The replies to the registrations that a cluster begins with were sent.   *)
FirstReplies ==
  {[type |-> "RegisterBrokerResponse", source |-> Controller, destination |-> b,
    request |-> [type |-> "RegisterBrokerRequest", source |-> b, destination |-> Controller,
                 incarnation |-> 0, previousEpoch |-> Undefined],
    error |-> "NONE", brokerEpoch |-> 0] : b \in Brokers}

(* A cluster begins with a leader that everybody knows.                     *)
MCInit ==
  /\ \E elected \in Step_HandleElectLeaders(Controller, InitialController,
                                            [election |-> "ONLINE"]) :
       LET records == AppendedTo(<<>>, elected.sent)
           told(n) == CHOOSE o \in Step_HandleMetadataUpdate(n, InitialRow(n),
                                     [offset |-> InitialOffset, records |-> records]) : TRUE
       IN /\ controller = elected.row
          /\ metadata = records
          /\ rows = [n \in Brokers |-> told(n).row]
  /\ network = FirstReplies
  /\ HistoryInit
  /\ spent = [records |-> 0, crashes |-> 0, fences |-> 0, timeouts |-> 0]

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

AlterArrives ==
  \E m \in Deliverable(network, Controller, "AlterPartitionRequest") :
    IF AlterOnce
    THEN \E outcome \in Step_HandleAlterPartitionRequest(Controller, controller, m) :
           /\ controller' = outcome.row
           /\ metadata' = AppendedTo(metadata, outcome.sent)
           /\ network' = (network \ {m})
                         \cup {r \in outcome.sent \ RecordsIn(outcome.sent) :
                                 rows[m.source].alterRequest = m}
           /\ UNCHANGED rows
    ELSE LiftController(Step_HandleAlterPartitionRequest, m)

(* A request that its sender gives up is gone, and so is its answer.        *)
Without(request) ==
  {m \in network : m # request /\ ~(m.type = "AlterPartitionResponse" /\ m.request = request)}

AlterGivenUp(n) ==
  /\ rows[n].alterRequest # NoRequest
  /\ rows' = [rows EXCEPT ![n].alterRequest = NoRequest]
  /\ network' = IF AlterOnce THEN Without(rows[n].alterRequest) ELSE network
  /\ UNCHANGED <<controller, metadata>>

AlterAnswered(n) ==
  \E m \in Deliverable(network, n, "AlterPartitionResponse") :
    \E outcome \in Step_HandleAlterPartitionResponse(n, rows[n], m) :
      /\ IsUp(rows[n])
      /\ rows' = [rows EXCEPT ![n] = outcome.row]
      /\ network' = IF AlterOnce THEN network \ {m} ELSE network
      /\ UNCHANGED <<controller, metadata>>

(* What is delivered, and is gone then if it arrives once.                  *)
AskedOfController(Step(_, _, _), type) ==
  IF "Once" \notin Moves THEN LiftControllerMessages(Step, type)
  ELSE \E m \in Deliverable(network, Controller, type) :
         \E outcome \in Step(Controller, controller, m) :
           /\ controller' = outcome.row
           /\ metadata' = AppendedTo(metadata, outcome.sent)
           /\ network' = (network \ {m}) \cup (outcome.sent \ RecordsIn(outcome.sent))
           /\ UNCHANGED rows

Received(Step(_, _, _), n, type) ==
  IF "Once" \notin Moves THEN LiftMessages(Step, n, type)
  ELSE \E m \in Deliverable(network, n, type) :
         \E outcome \in Step(n, rows[n], m) :
           /\ IsUp(rows[n]) /\ outcome.ignored = ""
           /\ rows' = [rows EXCEPT ![n] = outcome.row]
           /\ network' = (network \ {m}) \cup outcome.sent
           /\ UNCHANGED <<controller, metadata>>

Heartbeats(n) == Received(Step_HandleHeartbeatResponse, n, "HeartbeatResponse")

Produce(n, value) ==
  [type |-> "ProduceRequest", source |-> Clients, destination |-> n,
   acks |-> IF AcksAll THEN -1 ELSE 1, values |-> <<value>>, producer |-> Undefined,
   producerEpoch |-> Undefined, sequence |-> Undefined]

Free(n) ==
  \/ HandleMetadataUpdate(n)
  \/ "Fetch" \in Moves /\ (\/ HandleSendReplicaFetch(n)
                           \/ Received(Step_HandleReplicaFetchRequest, n, "ReplicaFetchRequest")
                           \/ Received(Step_HandleReplicaFetchResponse, n,
                                       "ReplicaFetchResponse"))
  \/ "Isr" \in Moves /\ (\/ \E r \in Brokers \ {n} : HandleReplicaLagTimeout(n, r)
                         \/ HandleIsrShrinkTimeout(n) \/ HandleSendAlterPartition(n)
                         \/ AlterAnswered(n))
  \/ "Heartbeat" \in Moves /\ (HandleSendHeartbeat(n) \/ Heartbeats(n))
  \/ "Unfence" \in Moves /\ (\/ controller.registrations[n].fenced /\ HandleSendHeartbeat(n)
                             \/ Heartbeats(n))
  \/ "Register" \in Moves /\ (\/ HandleBrokerRestart(n) \/ HandleSendRegistration(n)
                              \/ Received(Step_HandleRegisterBrokerResponse, n,
                                          "RegisterBrokerResponse"))
  \/ "Disk" \in Moves /\ (HandleBrokerFlush(n) \/ HandleCheckpointHighWatermark(n))

FreeController ==
  \/ "Isr" \in Moves /\ AlterArrives
  \/ {"Heartbeat", "Unfence"} \cap Moves # {}
     /\ AskedOfController(Step_HandleHeartbeatRequest, "HeartbeatRequest")
  \/ "Register" \in Moves
     /\ AskedOfController(Step_HandleRegisterBrokerRequest, "RegisterBrokerRequest")
  \/ "Register" \in Moves /\ \E b \in Brokers : ~IsUp(rows[b]) /\ HandleSessionTimeout(b)
  \/ "Elect" \in Moves /\ HandleElectLeaders("PREFERRED")

Budgeted(n) ==
  \/ /\ IsLeader(rows[n]) /\ Spend("records", MaxRecords)
     /\ HandleProduceRequest(n, Produce(n, spent.records + 1))
  \/ /\ Spend("crashes", MaxCrashes)
     /\ \E keep \in 0..EndOffset(rows[n].log) : HandleBrokerCrash(n, keep, Undefined)
  \/ IsUp(rows[n]) /\ Spend("fences", MaxFences) /\ HandleSessionTimeout(n)
  \/ /\ Spend("timeouts", MaxTimeouts)
     /\ \/ HandleReplicaFetchTimeout(n)
        \/ AlterGivenUp(n)
        \/ rows[n].controllerRequest # NoRequest /\ HandleControllerRequestTimeout(n)

MCNext ==
  /\ \/ \E n \in Brokers : (UNCHANGED spent /\ Free(n)) \/ Budgeted(n)
     \/ UNCHANGED spent /\ FreeController
  /\ HistoryNext

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Exact: leader epochs only grow, a fetch counts only in its own; a broker *)
(* epoch that was replaced never returns; nobody reads what clients got.    *)
(* The metadata that a broker named last matters only when one stops, and   *)
(* none does here.                                                          *)
Alive(m) ==
  CASE m.type = "ReplicaFetchRequest" -> m.epoch >= rows[m.destination].leaderEpoch
    [] m.type = "ReplicaFetchResponse" -> m.request.epoch >= rows[m.destination].leaderEpoch
    [] m.type = "HeartbeatRequest" ->
         m.brokerEpoch = controller.registrations[m.source].epoch
    [] m.type = "ProduceResponse" -> FALSE
    [] OTHER -> TRUE

Sessions == [b \in Brokers |-> controller.contacts[b].live]

AliveView == <<rows, [controller EXCEPT !.contacts = Sessions], metadata,
               {m \in network : Alive(m)}, committed, acked, spent>>

(* For Z30, which uses what a leader of any epoch said of a divergence.     *)
AliveOrDiverging(m) ==
  \/ Alive(m)
  \/ m.type = "ReplicaFetchResponse" /\ m.diverging # NoDivergence

DivergingView ==
  <<rows, [controller EXCEPT !.contacts = Sessions], metadata,
    {m \in network : AliveOrDiverging(m)}, committed, acked, spent>>

WithinBounds ==
  /\ controller.partition.leaderEpoch <= MaxLeaderEpoch
  /\ controller.partition.partitionEpoch <= MaxPartitionEpoch
=============================================================================
