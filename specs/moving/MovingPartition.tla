--------------------------- MODULE MovingPartition ---------------------------
(***************************************************************************)
(* A partition whose replicas move, with its records, brokers and           *)
(* controller (KIP-455).  Each step is one of a partition; here is what     *)
(* stands in the place of some of its operators (`replaces` in              *)
(* reference/moving/protocol.py).  One change of the partition, and what an *)
(* administrator asks for, is that of the controller of a topic             *)
(* (Reassignments), which sees this controller's row as its own.            *)
(*                                                                          *)
(* Replicas are all brokers of the cluster, which have a row each.          *)
(* Python twin: reference/moving/handlers.py.                               *)
(*                                                                          *)
(* Left out: a list shorter than min.insync.replicas, several directories   *)
(* of a broker, topics that are made and deleted.                           *)
(***************************************************************************)
EXTENDS MovingRules, BrokerLifecycle, PartitionController

CONSTANT FirstReplicas   \* who holds the partition at first, in assignment order

Topic == INSTANCE Reassignments WITH Directories <- {1}, SecondRack <- {}, LeaderNotes <- FALSE

(***************************************************************************)
(* A partition has the fields of a topic's: replicas, adding, removing,     *)
(* directories.  A broker's row has one more:                               *)
(*   replicas   the list in force where it leads or follows, or none        *)
(***************************************************************************)
InitialMovingPartition ==
  [leader |-> Nobody, leaderEpoch |-> 0, partitionEpoch |-> 0, isr |-> RangeOf(FirstReplicas),
   elr |-> {}, lastKnownLeader |-> Nobody, recovering |-> FALSE,
   replicas |-> FirstReplicas, adding |-> {}, removing |-> {},
   directories |-> [b \in Brokers |-> IF b \in RangeOf(FirstReplicas) THEN 1 ELSE 0]]

(* In the beginning a broker has not heard of the partition.                *)
InitialMovingRow(n) ==
  [status |-> "Running", incarnation |-> 0, brokerEpoch |-> 0, previousEpoch |-> Undefined,
   cleanShutdown |-> Undefined,
   image |-> [InitialImage EXCEPT !.partition = InitialMovingPartition],
   controllerRequest |-> NoRequest, alterRequest |-> NoRequest,
   log |-> <<>>, logStart |-> 0, flushed |-> 0, corrupt |-> Undefined, epochCache |-> <<>>,
   checkpoint |-> 0, producers |-> {}, highWatermark |-> 0,
   role |-> "None", leader |-> Nobody, leaderEpoch |-> 0, partitionEpoch |-> 0,
   epochStart |-> Undefined, isr |-> {}, pending |-> NoPending, remotes |-> NoRemotes,
   parked |-> {}, lastFetchedEpoch |-> Undefined, fetching |-> {}, replicas |-> <<>>]

InitialMovingController == [InitialController EXCEPT !.partition = InitialMovingPartition]

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
       [] HasLeft(n, partition) -> Outcome(Left(row), FailedResponses(n, row))
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
  [registrations |-> [b \in Brokers |-> [state |-> states[b], directories |-> {1}]],
   topicId |-> 1, topicsMade |-> 1, partitions |-> <<partition>>,
   targets |-> <<[replicas |-> partition.replicas]>>, leaders |-> <<>>]

OfRow(row) == AsTopic([b \in Brokers |-> State(row.registrations[b])], row.partition)

(* Who may lead is said by the change.                                      *)
ChangesOfLists(partition, isr, unclean, acceptable, election) ==
  {Topic!Change(AsTopic([b \in Brokers |-> "Active"], partition), partition, partition, isr,
                unclean, acceptable, election)}

(* A step of the topic's controller, as one of this controller.             *)
Decided(row, outcomes) ==
  UNION {LET partition == o.row.partitions[1]
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
=============================================================================
