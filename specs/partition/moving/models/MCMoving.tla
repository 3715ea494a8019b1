------------------------------ MODULE MCMoving ------------------------------
(***************************************************************************)
(* Bounded models of a partition whose replicas move. In addition to        *)
(* MCPartition these are left out: a request is answered in the step that   *)
(* sends it; no broker crashes and no session expires; registrations never  *)
(* change (see MCMovingLife for brokers that come and go). Metadata may be  *)
(* read late, and several changes as one.                                   *)
(***************************************************************************)
EXTENDS MovingProperties

CONSTANTS
  b1, b2, b3,
  MaxRecords,
  MaxTargets,          \* requested lists
  MaxCancels,
  MaxLags,             \* replicas that lag, and may leave the ISR
  MaxChanges,          \* times that the topic is made or deleted
  MaxLeaderEpoch

VARIABLE spent

mcVars == <<rows, controller, metadata, network, committed, acked, spent>>

(* For cfgs.                                                                *)
Three == <<b1, b2, b3>>
FirstTwo == <<b1, b2>>
Nobodies == <<>>

Targets == {<<x, y>> : x, y \in Brokers} \ {<<x, x>> : x \in Brokers}

-----------------------------------------------------------------------------

Become(newRows, newController, sent) ==
  /\ newController.partition.leaderEpoch <= MaxLeaderEpoch
  /\ rows' = newRows
  /\ controller' = newController
  /\ metadata' = AppendedTo(metadata, sent)
  /\ committed' = CommittedAfter(committed, newRows)
  /\ acked' = acked \cup AckedIn(sent)
  /\ UNCHANGED network

Of(outcomes, type) == UNION {{m \in o.sent : m.type = type} : o \in outcomes}

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

ReadMetadata(n) ==
  \E end \in (rows[n].image.offset + 1)..(InitialOffset + Len(metadata)) :
    \E o \in Step_HandleMetadataUpdate(n, rows[n],
               [type |-> "MetadataUpdate", offset |-> rows[n].image.offset,
                records |-> SubSeq(metadata, rows[n].image.offset - InitialOffset + 1,
                                   end - InitialOffset)]) :
      Become([rows EXCEPT ![n] = o.row], controller, o.sent)

Fetch(n) ==
  \E asked \in Step_HandleSendReplicaFetch(n, rows[n], [type |-> "SendReplicaFetch"]) :
    \E m \in {m \in asked.sent : IsUp(rows[m.destination])} :
      \E o \in Step_HandleReplicaFetchRequest(m.destination, rows[m.destination], m) :
        \E reply \in {r \in o.sent : r.type = "ReplicaFetchResponse"} :
          \E heard \in Step_HandleReplicaFetchResponse(n, asked.row, reply) :
            Become([rows EXCEPT ![n] = heard.row, ![m.destination] = o.row], controller, o.sent)

(* A broker sends a request to the controller and receives the response.    *)
Asks(n, Send(_, _, _), Serve(_, _, _), Hear(_, _, _)) ==
  \E asked \in Send(n, rows[n], [type |-> "Send"]) :
    \E m \in asked.sent :
      \E o \in Serve(Controller, controller, m) :
        \E reply \in o.sent \ RecordsIn(o.sent) :
          \E heard \in Hear(n, asked.row, reply) :
            Become([rows EXCEPT ![n] = heard.row], o.row, RecordsIn(o.sent) \cup heard.sent)

Alter(n) ==
  Asks(n, Step_HandleSendAlterPartition, Step_HandleAlterPartitionRequest,
       Step_HandleAlterPartitionResponse)

Lag(n) ==
  \E r \in Brokers \ {n} :
    \E o \in Step_HandleReplicaLagTimeout(n, rows[n], [type |-> "ReplicaLagTimeout",
                                                       replica |-> r]) :
      Become([rows EXCEPT ![n] = o.row], controller, o.sent)

Shrink(n) ==
  \E o \in Step_HandleIsrShrinkTimeout(n, rows[n], [type |-> "IsrShrinkTimeout"]) :
    Become([rows EXCEPT ![n] = o.row], controller, o.sent)

ProduceRecord(n) ==
  /\ IsLeader(rows[n])
  /\ Spend("records", MaxRecords)
  /\ \E o \in Step_HandleProduceRequest(n, rows[n],
       [type |-> "ProduceRequest", source |-> Clients, destination |-> n, client |-> 0,
        acks |-> -1, values |-> <<spent.records + 1>>, producer |-> Undefined,
        producerEpoch |-> Undefined, sequence |-> Undefined]) :
       Become([rows EXCEPT ![n] = o.row], controller, o.sent)

ByController(outcomes) ==
  \E o \in outcomes : o.ignored = "" /\ o.row # controller /\ Become(rows, o.row, o.sent)

ReassignTo(target) ==
  /\ Spend("targets", MaxTargets)
  /\ ByController(Step_HandleReassignReplicas(Controller, controller, [target |-> target]))

GiveUp ==
  /\ Spend("cancels", MaxCancels)
  /\ ByController(Step_HandleGiveUpReassignment(Controller, controller, [type |-> "None"]))

(* R10, R12.  The topic is made, where it was not there, or deleted.        *)
Create(replicas) ==
  /\ Spend("changes", MaxChanges)
  /\ ByController(Step_HandleCreatePartition(Controller, controller, [replicas |-> replicas]))

Remove ==
  /\ Spend("changes", MaxChanges)
  /\ ByController(Step_HandleRemoveTopic(Controller, controller, [type |-> "RemoveTopic"]))

MCNext ==
  \/ /\ UNCHANGED spent
     /\ \E n \in Brokers : ReadMetadata(n) \/ Fetch(n) \/ Alter(n) \/ Shrink(n)
  \/ \E n \in Brokers : ProduceRecord(n) \/ (Spend("lags", MaxLags) /\ Lag(n))
  \/ GiveUp
  \/ Remove
  \/ \E target \in Targets : ReassignTo(target) \/ Create(target)

(* There is no topic yet.                                                   *)
NoTopicInit ==
  /\ rows = [n \in Brokers |-> InitialMovingRow(n)]
  /\ controller = InitialMovingController
  /\ metadata = <<>>
  /\ network = {}
  /\ HistoryInit
  /\ spent = [records |-> 0, targets |-> 0, cancels |-> 0, lags |-> 0, changes |-> 0]

(* The first leader is elected, and everybody has heard of it.              *)
MCInit ==
  LET elected == CHOOSE o \in Step_HandleElectLeaders(Controller, InitialMovingController,
                                                      [election |-> "UNCLEAN"]) : TRUE
      records == (CHOOSE m \in elected.sent : TRUE).records
      told(n) == CHOOSE o \in Step_HandleMetadataUpdate(n, InitialMovingRow(n),
                   [type |-> "MetadataUpdate", offset |-> InitialOffset, records |-> records]) :
                   TRUE
  IN /\ rows = [n \in Brokers |-> told(n).row]
     /\ controller = elected.row
     /\ metadata = records
     /\ network = {}
     /\ HistoryInit
     /\ spent = [records |-> 0, targets |-> 0, cancels |-> 0, lags |-> 0, changes |-> 0]

MCSpec == MCInit /\ [][MCNext]_mcVars
NoTopicSpec == NoTopicInit /\ [][MCNext]_mcVars

-----------------------------------------------------------------------------
(* For the twins: a broker keeps a partition of which it is no replica, or  *)
(* whose topic was deleted.                                                 *)
NobodyLeaves(n, partition) == FALSE
TopicsLiveOn(partition) == FALSE

(* Probes: that these never happen is refuted.                              *)
NobodyTakesOver ==
  ~(Len(committed) > 0 /\ rows[b3].role = "Leader" /\ rows[b3].highWatermark > 0)
NothingIsDeleted == ~(Len(committed) > 0 /\ \A n \in Brokers : rows[n].log = <<>>)
NobodyComesBack ==
  ~\E n \in Brokers : \E i, j \in 1..Len(metadata) :
     /\ i < j /\ n \notin Listed(metadata[i].partition) /\ n \in Listed(metadata[j].partition)
     /\ n \in {b1, b2} /\ rows[n].role = "Follower" /\ rows[n].log # <<>>
     /\ rows[n].image.offset = InitialOffset + j
=============================================================================
