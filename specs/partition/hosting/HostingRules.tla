---------------------------- MODULE HostingRules -----------------------------
(***************************************************************************)
(* Every decision of a broker about its replica that has a name: which      *)
(* metadata change it (KRaft's TopicsDelta and ReplicaManager.applyDelta),  *)
(* and in which directory it is (KIP-858).  The Python twin is              *)
(* reference/partition/hosting/rules.py.                                              *)
(*                                                                          *)
(* Rule ids are those of docs/reference/protocol-rules.md. bySnapshot says  *)
(* whether the metadata come as a snapshot; a correct rule does not depend  *)
(* on it.                                                                   *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
  Brokers,        \* they have nothing to do with one another
  Directories,    \* of each broker: numbers above 0
  Sole            \* whether the partition has no other replica: then the ISR
                  \* keeps this one over a start (C10), and no directory fails

Unassigned == 0   \* no directory is known of the replica, or there is none
Undefined == -1   \* no epoch

-----------------------------------------------------------------------------
(* What metadata change here: V27, V28, R6, R13.                            *)

(* R13.  The replica is one of a topic that there is no more.               *)
IsOfDeletedTopic(row, bySnapshot) == row.replica.topicId # row.image.topicId

(* The topic exists, and the broker is none of its replicas (R6, V27).      *)
HasLeft(row, bySnapshot) ==
  row.replica.topicId = row.image.topicId /\ ~row.image.assigned

(* P10, V27.  Metadata answer a proposal only if they are newer than what   *)
(* it was made of.                                                          *)
ClearsPending(row, bySnapshot) == row.image.partitionEpoch > row.replica.partitionEpoch

(* A log of another topic of that name, or of a topic of which the broker   *)
(* has no replica (R13; KAFKA-14616).                                       *)
IsStray(log, image) == log.topicId # image.topicId \/ ~image.assigned

(* V28.  What an aborted transaction has is no part of the metadata,        *)
(* whatever is read with it.                                                *)
ReadsAborted(row, bySnapshot) == FALSE

-----------------------------------------------------------------------------
(* Directories: R18 to R22.                                                 *)

(* R22.  A replica that is removed is forgotten also where its directory    *)
(* has failed.                                                              *)
ForgetsOffline(row) == TRUE

(* R20.  A replica is created where the controller believes it, or anywhere *)
(* if it believes nothing; never beside one of the same topic whose         *)
(* directory has failed (KAFKA-16234).                                      *)
MayCreate(row) ==
  /\ ~(row.replica.state = "Offline" /\ row.replica.topicId = row.image.topicId)
  /\ row.image.directory = Unassigned \/ row.image.directory \in row.online

(* Whether a future log becomes the replica. It was at the replica's end    *)
(* once, and the controller has recorded that. Records may have been        *)
(* appended since, so both ends are compared again (R21).                   *)
PromotesFuture(row) == row.futureAssigned /\ row.futureCaughtUp

(* R21.  Whether a start takes the future log for the replica: where the    *)
(* controller believes it, if it ends where the replica's log ends.  Kafka  *)
(* 4.3.1 does not compare the ends.                                         *)
RecoversFuture(row) == row.future = row.image.directory /\ row.futureCaughtUp

(* Whether the broker takes back the assignment of a future replica that is *)
(* not promoted (R21; KAFKA-16297).                                         *)
TakesBackAssignment(row) == row.futureAssigned
=============================================================================
