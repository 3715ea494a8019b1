----------------------------- MODULE MovingRules -----------------------------
(***************************************************************************)
(* Every decision that has a name where the replicas move, beside those of  *)
(* PartitionRules and ReassignmentRules: no messages sent, no variables.    *)
(* The Python twin is reference/partition/moving/rules.py.                            *)
(*                                                                          *)
(* Rule ids are those of docs/reference/protocol-rules.md.                  *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS PartitionRow

RangeOf(sequence) == {sequence[i] : i \in 1..Len(sequence)}

(* R13.  Whether the topic is gone, and what a broker has of it with it.    *)
IsOfDeletedTopic(partition) == partition.replicas = <<>>

(* Whether the topic exists and a broker is no replica any more: it then    *)
(* stops and deletes its log (R6).                                          *)
HasLeft(n, partition) ==
  partition.replicas # <<>> /\ n \notin RangeOf(partition.replicas)

(* The state of others that a leader keeps: none of brokers that are no     *)
(* replicas (R6; Partition.updateAssignmentAndIsr).                         *)
RemotesUnder(row, partition) ==
  [b \in Brokers |-> IF b \in RangeOf(partition.replicas) THEN row.remotes[b] ELSE UnknownRemote]

(* A broker that is no replica by the leader's metadata may be one by its   *)
(* own newer metadata, so it retries (P4, R6;                               *)
(* Partition.followerReplicaOrThrow).                                       *)
FetchErrorUnderList(row, m) ==
  CASE row.role = "None" -> "NOT_LEADER_OR_FOLLOWER"
    [] m.epoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch > row.leaderEpoch -> "UNKNOWN_LEADER_EPOCH"
    [] row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] m.source \notin RangeOf(row.replicas) -> "UNKNOWN_LEADER_EPOCH"
    [] OTHER -> "NONE"

(* S9, R6.  Nobody waits for a broker that is no replica.                   *)
DeletionAwaitsUnderList(row, r) == r \in RangeOf(row.replicas) /\ ~row.image.brokers[r].fenced

(* The first check: the topic exists (C12, R12).                            *)
LeaderErrorUnderList(partition, m) ==
  CASE partition.replicas = <<>> -> "UNKNOWN_TOPIC_ID"
    [] m.leaderEpoch > partition.leaderEpoch -> "NOT_CONTROLLER"
    [] m.leaderEpoch < partition.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] OTHER -> "NONE"

(* After the compare-and-set: each proposed member is a replica (C12).      *)
AlterErrorUnderList(partition, m) ==
  CASE m.partitionEpoch > partition.partitionEpoch -> "NOT_CONTROLLER"
    [] m.partitionEpoch < partition.partitionEpoch -> "INVALID_UPDATE_VERSION"
    [] \E member \in m.isr : member.broker \notin RangeOf(partition.replicas) -> "INVALID_REQUEST"
    [] OTHER -> "NONE"

(* C3, R15.  Of a broker that is not registered nothing is known: it comes  *)
(* without proof.                                                           *)
UncleanUnderList(registration, m) ==
  registration.epoch = Undefined \/ m.previousEpoch # registration.epoch

(* R14.  Whether a broker that wants to stop is to wait for other           *)
(* partitions, as if it led this one.                                       *)
LeadsElsewhere(row, b) == b \in row.held

(* A controller answers reads from the state that it knows to be committed, *)
(* whatever else it has written. It need not be active (V29;                *)
(* QuorumController.appendReadEvent, lastStableOffset).                     *)
ReadFrom(stable, ahead) == stable
=============================================================================
