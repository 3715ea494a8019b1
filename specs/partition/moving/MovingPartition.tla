--------------------------- MODULE MovingPartition ---------------------------
(***************************************************************************)
(* A partition whose replicas move, with its records, brokers and           *)
(* controller (KIP-455). Each step is one of a partition. This module       *)
(* replaces some of its operators (`replaces` in                            *)
(* reference/partition/moving/protocol.py). A change of the partition, and an         *)
(* administrator's request, is a step of the controller of a topic          *)
(* (Reassignments), which uses this controller's row as its own.            *)
(*                                                                          *)
(* Replicas are all brokers of the cluster, which have a row each.          *)
(* Python twin: reference/partition/moving/handlers.py.                               *)
(*                                                                          *)
(* A partition belongs to a topic with an id. When the topic is deleted,    *)
(* the partition is gone for good; a topic created again under the name has *)
(* another partition. A partition knows only itself of its topic. So        *)
(* creating a topic and adding a partition are the same step. Conditions on *)
(* the other partitions (names, number of replicas, whether a broker may    *)
(* stop) are checked where all are known.                                   *)
(*                                                                          *)
(* Left out: a list shorter than min.insync.replicas, several directories   *)
(* of a broker.                                                             *)
(***************************************************************************)
EXTENDS MovingRules, BrokerLifecycle, PartitionController

CONSTANTS
  FirstReplicas,   \* who holds the partition at first, in assignment order; none: there is no
                   \* partition yet
  SecondRack       \* the brokers in another rack than the others; empty: none has a rack

Topic == INSTANCE Reassignments WITH Directories <- {1}, LeaderNotes <- FALSE

(***************************************************************************)
(* A partition has the fields of a topic's: replicas, adding, removing,     *)
(* directories.  A broker's row has one more:                               *)
(*   replicas   the list in force where it leads or follows, or none        *)
(* The controller's row has one more:                                       *)
(*   held       R14: the brokers whose stop other partitions of the cluster *)
(*              hold back                                                   *)
(***************************************************************************)
InitialMovingPartition ==
  [leader |-> Nobody, leaderEpoch |-> 0, partitionEpoch |-> 0, isr |-> RangeOf(FirstReplicas),
   elr |-> {}, lastKnownLeader |-> Nobody, recovering |-> FALSE,
   replicas |-> FirstReplicas, adding |-> {}, removing |-> {},
   directories |-> [b \in Brokers |-> IF b \in RangeOf(FirstReplicas) THEN 1 ELSE 0]]

(* The partition belongs to an existing topic, or to a deleted one (R10,    *)
(* R12).                                                                    *)
IsThere(partition) == partition.replicas # <<>>
WasDeleted(partition) == ~IsThere(partition) /\ partition.partitionEpoch > 0

(* The remaining state has the epoch of the deletion, so nothing older      *)
(* counts as newer. In Kafka the deletion is a record of its own            *)
(* (RemoveTopicRecord).                                                     *)
Deleted(partition) ==
  [partition EXCEPT
     !.leader = Nobody, !.partitionEpoch = @ + 1, !.isr = {}, !.elr = {},
     !.lastKnownLeader = Nobody, !.recovering = FALSE, !.replicas = <<>>, !.adding = {},
     !.removing = {}, !.directories = [b \in Brokers |-> 0]]

FirstEpoch == IF FirstReplicas = <<>> THEN Undefined ELSE 0

(* Initially a broker does not know the partition.                          *)
InitialMovingRow(n) ==
  [status |-> "Running", incarnation |-> 0, brokerEpoch |-> 0, previousEpoch |-> Undefined,
   cleanShutdown |-> Undefined,
   image |-> [InitialImage EXCEPT !.partition = InitialMovingPartition],
   controllerRequest |-> NoRequest, alterRequest |-> NoRequest,
   log |-> <<>>, logStart |-> 0, flushed |-> 0, corrupt |-> Undefined, epochCache |-> <<>>,
   checkpoint |-> 0, producers |-> {}, highWatermark |-> 0,
   role |-> "None", leader |-> Nobody, leaderEpoch |-> FirstEpoch, partitionEpoch |-> FirstEpoch,
   epochStart |-> Undefined, isr |-> {}, pending |-> NoPending, remotes |-> NoRemotes,
   parked |-> {}, lastFetchedEpoch |-> Undefined, fetching |-> {}, replicas |-> <<>>]

InitialMovingController ==
  [registrations |-> InitialController.registrations, partition |-> InitialMovingPartition,
   offset |-> InitialController.offset, contacts |-> InitialController.contacts, held |-> {}]

-----------------------------------------------------------------------------
(* Brokers: R6.                                                             *)

(* The replica is gone, with its log.                                       *)
Left(row) ==
  [row EXCEPT
     !.log = <<>>, !.logStart = 0, !.flushed = 0, !.epochCache = <<>>, !.checkpoint = 0,
     !.producers = {}, !.highWatermark = 0, !.role = "None", !.leader = Nobody,
     !.leaderEpoch = Undefined, !.partitionEpoch = Undefined, !.epochStart = Undefined,
     !.isr = {}, !.pending = NoPending, !.remotes = NoRemotes, !.parked = {},
     !.lastFetchedEpoch = Undefined, !.replicas = <<>>]

PublishUnderList(n, row) ==
  LET partition == row.image.partition
      listed == [row EXCEPT !.replicas = partition.replicas,
                            !.remotes = RemotesUnder(row, partition)]
  IN CASE IsOutdatedPartition(row, partition) -> Outcome(row, {})
       [] IsOfDeletedTopic(partition) \/ HasLeft(n, partition) ->
            Outcome(Left(row), FailedResponses(n, row))
       [] partition.leader = n -> BecomeLeader(n, listed, partition)
       [] OTHER -> BecomeFollower(n, listed, partition)

-----------------------------------------------------------------------------
(* The controller: C7, R1 to R5, R8.                                        *)

State(registration) ==
  CASE registration.epoch = Undefined -> "Unregistered"
    [] registration.fenced -> "Fenced"
    [] registration.stopping -> "Stopping"
    [] OTHER -> "Active"

(* The row as that of the controller of a topic with this one partition.    *)
AsTopic(states, partition) ==
  LET there == IsThere(partition)
  IN [registrations |-> [b \in Brokers |-> [state |-> states[b], directories |-> {1}]],
      topicId |-> IF there THEN 1 ELSE 0,
      topicsMade |-> IF there \/ WasDeleted(partition) THEN 1 ELSE 0,
      partitions |-> IF there THEN <<partition>> ELSE <<>>,
      targets |-> IF there THEN <<[replicas |-> partition.replicas]>> ELSE <<>>,
      leaders |-> <<>>, minIsr |-> 0]

OfRow(row) == AsTopic([b \in Brokers |-> State(row.registrations[b])], row.partition)

(* The change determines who may lead.                                      *)
ChangesOfLists(partition, isr, unclean, acceptable, election) ==
  IF ~IsThere(partition) THEN {partition}
  ELSE {Topic!Change(AsTopic([b \in Brokers |-> "Active"], partition), partition, partition, isr,
                     unclean, acceptable, election)}

(* A step of the topic's controller, as one of this controller.             *)
Decided(row, outcomes) ==
  UNION {LET left == o.row.partitions
             partition == IF left = <<>> THEN Deleted(row.partition) ELSE left[1]
         IN IF o.ignored # "" THEN Ignore(row, o.ignored)
            ELSE Committed([row EXCEPT !.partition = partition],
                           PartitionRecords(row.partition, partition), {}) : o \in outcomes}

Step_HandleReassignReplicas(c, row, input) ==
  IF Len(input.target) < MinInsyncReplicas THEN Disabled
  ELSE Decided(row, Topic!Step_HandleReassign(c, OfRow(row),
                      [partition |-> 1, target |-> input.target]))

Step_HandleGiveUpReassignment(c, row, input) ==
  Decided(row, Topic!Step_HandleCancelReassignment(c, OfRow(row), [partition |-> 1]))

ElectUnderList(c, row, input) ==
  Decided(row, Topic!Step_HandleElectPartitionLeader(c, OfRow(row),
                 [partition |-> 1, election |-> input.election]))

(* With its topic, or added to it.  One that was deleted does not come      *)
(* again.                                                                   *)
Step_HandleCreatePartition(c, row, input) ==
  IF WasDeleted(row.partition) \/ Len(input.replicas) < MinInsyncReplicas THEN Disabled
  ELSE Decided(row, Topic!Step_HandleCreateTopic(c, OfRow(row), input))

(* R9.  As without a list: what the placer chooses comes with the input.    *)
Step_HandlePlacePartition(c, row, input) ==
  IF ~Topic!PlacerChooses(OfRow(row), input.replicas) THEN Disabled
  ELSE Step_HandleCreatePartition(c, row, input)

Step_HandleRemoveTopic(c, row, input) ==
  Decided(row, Topic!Step_HandleDeleteTopic(c, OfRow(row), input))

-----------------------------------------------------------------------------
(* Reads: V29.  Any controller answers, from its row as it was when all of  *)
(* it was committed.                                                        *)

(* ListPartitionReassignments, which leaves out a list that stays as it is. *)
Step_HandleListReassignments(c, row, input) ==
  LET p == row.partition
  IN Outcome(row, {[type |-> "ListReassignmentsResponse", source |-> Controller,
                    destination |-> Clients, replicas |-> p.replicas, adding |-> p.adding,
                    removing |-> p.removing]})

-----------------------------------------------------------------------------
(* Brokers that stop or are unregistered: R14, R15.                         *)

Step_HandleUnregisterBroker(c, row, input) ==
  LET b == input.broker
      gone == [row.registrations[b] EXCEPT !.epoch = Undefined, !.fenced = TRUE,
                                           !.stopping = FALSE]
      unknown == [live |-> FALSE, metadataOffset |-> Undefined, shutdownOffset |-> Undefined]
  IN UNION {LET left == o.row.partitions
                partition == IF left = <<>> THEN row.partition ELSE left[1]
            IN IF o.ignored # "" THEN Ignore(row, o.ignored)
               ELSE Committed([row EXCEPT !.partition = partition, !.registrations[b] = gone,
                                          !.contacts[b] = unknown],
                      PartitionRecords(row.partition, partition) \o <<BrokerRecord(b, gone)>>,
                      {}) :
            o \in Topic!Step_HandleUnregisterBroker(c, OfRow(row), input)}

(* NextControlState, except for the leader.                                 *)
NextOfAllPartitions(row, m) ==
  LET b == m.source
      registration == row.registrations[b]
      leads == row.partition.leader = b \/ LeadsElsewhere(row, b)
  IN CASE registration.fenced /\ m.wantShutDown -> "SHUTDOWN_NOW"
       [] registration.fenced /\ ~m.wantFence /\ IsCaughtUpWithRegistration(registration, m) ->
            "UNFENCED"
       [] registration.fenced -> "FENCED"
       [] registration.stopping ->
            IF ~leads /\ MayShutDown(row.contacts, Active(row), b)
            THEN "SHUTDOWN_NOW" ELSE "CONTROLLED_SHUTDOWN"
       [] m.wantFence -> IF m.wantShutDown THEN "SHUTDOWN_NOW" ELSE "FENCED"
       [] m.wantShutDown -> IF leads THEN "CONTROLLED_SHUTDOWN" ELSE "SHUTDOWN_NOW"
       [] OTHER -> "UNFENCED"

(* What one controller of all partitions knows about the others (R14).      *)
Step_HandleOtherPartitions(c, row, input) ==
  IF input.hold = (input.broker \in row.held) THEN Disabled
  ELSE Outcome([row EXCEPT !.held = IF input.hold THEN @ \cup {input.broker}
                                    ELSE @ \ {input.broker}], {})

(* Information about other partitions is not part of the log either.        *)
FailoverOfAllPartitions(c, row, input) ==
  LET offset(b) == IF row.registrations[b].stopping THEN row.offset ELSE Undefined
  IN Outcome([row EXCEPT !.held = {}, !.contacts = [b \in Brokers |->
                [live |-> TRUE, metadataOffset |-> Undefined, shutdownOffset |-> offset(b)]]], {})
=============================================================================
