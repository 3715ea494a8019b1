--------------------------- MODULE PartitionRules ---------------------------
(***************************************************************************)
(* Every decision of partition replication that has a name, of the          *)
(* partition controller and of the brokers: no messages sent, no variables. *)
(* A bug is one or more of these operators replaced (bugs,                  *)
(* `Op <- [PartitionRules] BugOp`).  The Python twin is                     *)
(* reference/partition/rules.py, where each operator is a method of         *)
(* the same name in snake case.                                             *)
(*                                                                          *)
(* Rule ids (C1 ..., P1 ..., T1 ...) are those of                           *)
(* docs/reference/protocol-rules.md.                                        *)
(*                                                                          *)
(* Law of this file: nothing here looks at the identity of a broker except  *)
(* by equality and by its place in Replicas, and no property calls an       *)
(* operator of this file, or else replacing the operator would change the   *)
(* property with it.                                                        *)
(***************************************************************************)
EXTENDS PartitionLog

CONSTANTS
  Replicas,            \* the brokers that hold the partition, in assignment order
  MinInsyncReplicas,   \* min.insync.replicas of the topic
  ElrEnabled,          \* eligible.leader.replicas.version = 1 (KIP-966)
  UncleanElection,     \* unclean.leader.election.enable
  FetchMaxRecords      \* how many records one fetch response carries at most

Brokers == {Replicas[i] : i \in 1..Len(Replicas)}

(* Addresses that are no brokers.                                           *)
Nobody == -1           \* Kafka's own sentinel: no leader
Controller == -2       \* the active controller
Clients == -3          \* all clients together; messages name the one
MetadataLog == -4      \* the log of committed metadata records

(* KIP-966: never more copies than there are replicas.                      *)
EffectiveMinIsr == MinOf(MinInsyncReplicas, Cardinality(Brokers))

-----------------------------------------------------------------------------
(* Controller: elections, C8 to C11.                                        *)

IsActive(registration) ==
  registration.epoch # Undefined /\ ~registration.fenced /\ ~registration.stopping

(* The brokers that may lead without loss: acceptable members of the ISR,   *)
(* or of the ELR when the ISR is empty (C8).                                *)
ValidLeaders(targetIsr, targetElr, acceptable) ==
  acceptable \cap (IF targetIsr = {} THEN targetElr ELSE targetIsr)

(* C9.  Which of several is taken: the first in assignment order.           *)
LeaderChoices(candidates) ==
  LET first == CHOOSE i \in 1..Len(Replicas) :
                 /\ Replicas[i] \in candidates
                 /\ \A j \in 1..(i - 1) : Replicas[j] \notin candidates
  IN IF candidates = {} THEN {} ELSE {Replicas[first]}

(* The replica that is tried first (C9, PREFERRED).                         *)
PreferredReplica == Replicas[1]
PreferredChoices(partition, valid) == {PreferredReplica} \cap valid

(* C9.  The last known leader is elected only if it is alive (KAFKA-19522). *)
LastKnownLeaderElectable(partition, targetIsr, targetElr, acceptable) ==
  /\ ElrEnabled /\ targetIsr = {} /\ targetElr = {}
  /\ partition.lastKnownLeader # Nobody /\ partition.lastKnownLeader \in acceptable

(* C11.  Members that leave an ISR below min ISR stay eligible, unless they *)
(* came back without proof of a clean stop (KAFKA-18106).                   *)
TargetElr(partition, targetIsr, unclean) ==
  IF ~ElrEnabled \/ Cardinality(targetIsr) >= EffectiveMinIsr THEN {}
  ELSE ((partition.elr \cup partition.isr) \ targetIsr) \ unclean

(* C10.  Without ELR the last member stays in the ISR.                      *)
IsrWhenEmptied(partition) == IF ElrEnabled THEN {} ELSE partition.isr

(* C1.  ISR changes alone leave the leader epoch as it is (KAFKA-15021).    *)
LeaderEpochBumped(partition, leader) == leader # partition.leader

-----------------------------------------------------------------------------
(* Controller: registration and heartbeats, C2 to C5.                       *)

(* C2.  Another process with this id still has a live session.              *)
IsDuplicateRegistration(registration, contact, m) ==
  /\ registration.epoch # Undefined /\ contact.live
  /\ registration.incarnation # m.incarnation

(* C3.  Was the previous incarnation's stop unclean (KIP-966)?  Judged by   *)
(* the broker epoch in the clean-shutdown file (KAFKA-18635).               *)
IsUncleanRestart(registration, m) == m.previousEpoch # registration.epoch

(* C4.                                                                      *)
IsStaleBrokerEpoch(registration, epoch) == epoch # registration.epoch

(* C5.  Enough metadata was applied to be unfenced.                         *)
IsCaughtUpWithRegistration(registration, m) == m.metadataOffset > registration.recordOffset

(* C5.  A stopping broker may go when everyone has seen it lose its leads.  *)
MayShutDown(contacts, active, b) ==
  \A other \in active : contacts[b].shutdownOffset <= contacts[other].metadataOffset

-----------------------------------------------------------------------------
(* Controller: when it answers, C0.                                         *)

(* Whether a response is sent before the state that it depends on is        *)
(* committed: never (C0, Z22). So a deposed controller that does not know   *)
(* it answers from formerly committed state, and nothing after its first    *)
(* write.                                                                   *)
AnswersBeforeCommit == FALSE

-----------------------------------------------------------------------------
(* Controller: AlterPartition, C12.                                         *)

(* C12.  The epochs of an AlterPartition, in Kafka's order.  Larger epochs  *)
(* than ours mean that we are the stale one (KAFKA-14154).                  *)
LeaderEpochError(partition, m) ==
  CASE m.leaderEpoch > partition.leaderEpoch -> "NOT_CONTROLLER"
    [] m.leaderEpoch < partition.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] OTHER -> "NONE"

(* C12.  The compare-and-set by partition epoch (KIP-497).                  *)
PartitionEpochError(partition, m) ==
  CASE m.partitionEpoch > partition.partitionEpoch -> "NOT_CONTROLLER"
    [] m.partitionEpoch < partition.partitionEpoch -> "INVALID_UPDATE_VERSION"
    [] OTHER -> "NONE"

(* C12, KIP-841.  A member must be active.                                  *)
IsrMemberActive(registration) == IsActive(registration)

(* C12, KIP-903.  A member must be the incarnation that fetched.            *)
IsrMemberEpochMatches(registration, member) ==
  member.epoch \in {Undefined, registration.epoch}

-----------------------------------------------------------------------------
(* Broker: becoming leader or follower, P1 to P3.                           *)

(* P1.                                                                      *)
IsOutdatedPartition(row, partition) == partition.partitionEpoch < row.partitionEpoch

(* P2, Z67.  Whether follower end offsets survive a new leader epoch: never.*)
(* Kafka keeps them when the broker was leader before, although it may have *)
(* missed another leader in between.                                        *)
KeepsEndOffsets(row) == FALSE

(* Metadata that contain no more than an earlier AlterPartition response do *)
(* not clear the next proposal (P2, Z69). The proposal may be in flight,    *)
(* and the high watermark must wait for the brokers that it adds. Kafka     *)
(* clears it.                                                               *)
ClearsPending(row, partition) == partition.partitionEpoch > row.partitionEpoch

(* P2, KAFKA-7415.  The cache knows an epoch even if nothing is written.    *)
CacheOnBecomeLeader(row, epoch) ==
  CacheAssign(row.epochCache, epoch, EndOffset(row.log))

(* The log end of a new follower. Nothing is truncated before the leader    *)
(* has returned where the logs diverge (P3; KIP-101, KIP-279).              *)
EndOnBecomeFollower(row) == EndOffset(row.log)

(* The last fetched epoch that a follower of a new epoch reports (P3,       *)
(* KAFKA-7164).                                                             *)
LastFetchedOnBecomeFollower(row, partition) == LastEpochOf(row.epochCache)

-----------------------------------------------------------------------------
(* Leader: serving a follower's fetch, P4 and P5.                           *)

(* P4, KIP-320.                                                             *)
FetchEpochError(row, m) ==
  CASE m.epoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch > row.leaderEpoch -> "UNKNOWN_LEADER_EPOCH"
    [] row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] OTHER -> "NONE"

(* P4, P13.  Where the leader's log ends for the follower's last epoch.     *)
EpochEndFor(row, m) == EndOffsetFor(row.epochCache, EndOffset(row.log), m.lastFetchedEpoch)

(* P4.                                                                      *)
FetchOffsetError(row, m) ==
  CASE m.fetchOffset < row.logStart -> "OFFSET_OUT_OF_RANGE"
    [] m.lastFetchedEpoch # Undefined /\ EpochEndFor(row, m).epoch = Undefined ->
         "OFFSET_OUT_OF_RANGE"
    [] m.lastFetchedEpoch = Undefined /\ m.fetchOffset > EndOffset(row.log) ->
         "OFFSET_OUT_OF_RANGE"
    [] OTHER -> "NONE"

(* P4.  A follower without any epoch is not checked: its log is empty.      *)
IsDiverging(row, m) ==
  /\ m.lastFetchedEpoch # Undefined
  /\ \/ EpochEndFor(row, m).epoch < m.lastFetchedEpoch
     \/ EpochEndFor(row, m).endOffset < m.fetchOffset

(* Nothing is recorded of a diverging fetch (P4, KAFKA-13141).              *)
MayUpdateFetchState(row, m) == ~IsDiverging(row, m)

(* P5, KAFKA-15221.                                                         *)
IsStaleReplica(row, m) == row.image.brokers[m.source].epoch > m.brokerEpoch

-----------------------------------------------------------------------------
(* Leader: the ISR, P9 and P10.                                             *)

(* Whether a replica may be in the ISR by the leader's metadata (P9, P6,    *)
(* KIP-841, KIP-903).                                                       *)
IsIsrEligible(row, r) ==
  /\ ~row.image.brokers[r].fenced /\ ~row.image.brokers[r].stopping
  /\ row.remotes[r].brokerEpoch # Undefined
  /\ row.remotes[r].brokerEpoch = row.image.brokers[r].epoch

(* P9, KAFKA-7128.                                                          *)
IsInSync(row, r) ==
  /\ row.remotes[r].endOffset >= row.highWatermark
  /\ row.remotes[r].endOffset >= row.epochStart

MayExpandIsr(row, r) ==
  /\ row.pending = NoPending /\ r \notin row.isr
  /\ IsIsrEligible(row, r) /\ IsInSync(row, r)

(* Whether the offset of a fenced fetch may expand the ISR: never (P9,      *)
(* Z170). In Kafka (Partition.fetchRecords) the epoch is checked and the    *)
(* fetch is recorded in two steps. A fetch that is recorded later, in       *)
(* another leadership, is compared with that leadership's high watermark.   *)
FencedFetchMayExpandIsr == FALSE

(* P10.                                                                     *)
IsOutOfSync(row, r) ==
  row.remotes[r].endOffset # EndOffset(row.log) /\ ~row.remotes[r].caughtUp

(* P9, KAFKA-15221.  The broker epochs in a proposal are those of the       *)
(* fetches that it was judged by.                                           *)
ProposedEpoch(n, row, r) == IF r = n THEN row.brokerEpoch ELSE row.remotes[r].brokerEpoch

(* The replicas that must have a record before it is committed. A proposed  *)
(* expansion counts at once, a proposed shrink only after it is confirmed   *)
(* (P6, KIP-497).                                                           *)
MaximalIsr(row) ==
  IF row.pending.kind = "Expand" THEN row.isr \cup {m.broker : m \in row.pending.isr}
  ELSE row.isr

(* P11.  What becomes of a proposal that was refused.                       *)
IsRevertingError(error) == error \in {"INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED"}
IsFinalError(error) ==
  error \in {"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "FENCED_LEADER_EPOCH",
             "INVALID_UPDATE_VERSION", "INVALID_REQUEST", "NEW_LEADER_ELECTED"}

(* Whether a leader that has sent a request to the present controller       *)
(* accepts a response of a deposed one: never (P11, Z194). A broker's       *)
(* knowledge of the controller only moves forward, as epochs of the quorum  *)
(* do (Q4). A response to a request that was given up is lost with its      *)
(* connection.                                                              *)
HearsDeposed == FALSE

(* P11, KAFKA-12686.  One AlterPartition in flight; what was refused for    *)
(* good waits for metadata.                                                 *)
MaySendAlterPartition(row) ==
  row.pending # NoPending /\ ~row.pending.refused /\ row.alterRequest = NoRequest

-----------------------------------------------------------------------------
(* Leader: the high watermark, P6.                                          *)

(* P6, KAFKA-15583.                                                         *)
EnoughInSync(row) == Cardinality(row.isr) >= EffectiveMinIsr

(* P6.  Whose end offsets bound the high watermark.                         *)
HighWatermarkQuorum(row) == MaximalIsr(row)

(* P6, KAFKA-15021.  A caught-up outsider that may join is waited for.      *)
IsWaitedFor(row, r) ==
  /\ row.remotes[r].caughtUp \/ row.remotes[r].endOffset = EndOffset(row.log)
  /\ IsIsrEligible(row, r)

HighWatermarkBound(n, row) ==
  LET others == {r \in Brokers \ {n} : r \in HighWatermarkQuorum(row) \/ IsWaitedFor(row, r)}
      offsets == {row.remotes[r].endOffset : r \in others} \cup {EndOffset(row.log)}
  IN CHOOSE o \in offsets : \A other \in offsets : o <= other

(* P6, KAFKA-13091.  A confirmed change of the ISR is tried at once.        *)
AdvancesAfterAlterPartition == TRUE

-----------------------------------------------------------------------------
(* Leader: deleted records, S9.                                             *)

(* S9, KIP-107.  Whether a deletion is answered only when this replica has  *)
(* made it: every one that the leader's metadata has as unfenced.           *)
DeletionAwaits(row, r) == ~row.image.brokers[r].fenced

(* S9.  Where the logs start of the leader and of all replicas that a       *)
(* deletion awaits.                                                         *)
LowWatermark(row) ==
  LET others == {r \in Brokers \ {row.leader} : DeletionAwaits(row, r)}
      starts == {row.remotes[r].logStart : r \in others} \cup {row.logStart}
  IN CHOOSE o \in starts : \A other \in starts : o <= other

-----------------------------------------------------------------------------
(* Leader: produce and reads, P17 to P21, T1 to T3.                         *)

(* P17.                                                                     *)
ProduceError(row, m) ==
  CASE row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] m.acks = -1 /\ Cardinality(row.isr) < EffectiveMinIsr -> "NOT_ENOUGH_REPLICAS"
    [] OTHER -> SequenceError(row.producers, m)

(* T1.                                                                      *)
DuplicateOffset(row, m) == DuplicateIn(row.producers, m)

(* T1.  How many batches of a producer are remembered: as many as may be in *)
(* flight.                                                                  *)
BatchesKept == 5

(* P19.  Enough copies, still, when the high watermark passes the record.   *)
ParkedError(row) ==
  IF Cardinality(MaximalIsr(row)) >= EffectiveMinIsr THEN "NONE"
  ELSE "NOT_ENOUGH_REPLICAS_AFTER_APPEND"

(* A thread that lets the high watermark pass a parked request checks it,   *)
(* even if another thread is checking it: that thread may have read the old *)
(* high watermark (P19, KAFKA-6653).                                        *)
RecheckCompletion == TRUE

(* P20.                                                                     *)
VisibleEnd(row) == row.highWatermark

(* P21, KIP-207.                                                            *)
ListOffsetsError(row) ==
  CASE row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] row.highWatermark < row.epochStart -> "OFFSET_NOT_AVAILABLE"
    [] OTHER -> "NONE"

-----------------------------------------------------------------------------
(* Follower: using a fetch response, P7, P14 to P16.                        *)

(* P15.  The response answers what this follower would ask now.             *)
ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.epoch = row.leaderEpoch
  /\ m.request.fetchOffset = EndOffset(row.log)

(* P15, KAFKA-18723.                                                        *)
Appendable(m) == SelectSeq(m.records, LAMBDA record : record.epoch <= m.request.epoch)

(* P14, KIP-279.  Where the follower's log is cut.                          *)
TruncationPoint(row, diverging) ==
  LET end == EndOffset(row.log)
      own == EndOffsetFor(row.epochCache, end, diverging.epoch)
  IN CASE diverging.epoch = Undefined -> row.highWatermark
       [] own.epoch = Undefined -> MinOf(diverging.endOffset, end)
       [] own.epoch # diverging.epoch -> MinOf(own.endOffset, end)
       [] OTHER -> MinOf(MinOf(own.endOffset, diverging.endOffset), end)

(* KAFKA-10706.  The cache is cut even if the log is not.                   *)
CacheAfterTruncation(row, offset) == CacheTruncate(row.epochCache, offset)

(* P7.  After appending, never on a diverging response (KAFKA-14704); may   *)
(* go down.                                                                 *)
FollowerHighWatermark(row, highWatermark) ==
  MaxOf(row.logStart, MinOf(highWatermark, EndOffset(row.log)))

(* P16, KAFKA-9491.                                                         *)
HighWatermarkAfterWipe(row, start) == start

(* P15, KAFKA-15510.  An empty response leaves it as it was.                *)
LastFetchedAfter(row, records) ==
  IF records = <<>> THEN row.lastFetchedEpoch ELSE records[Len(records)].epoch

(* P14, P23.  Producer state follows the log that is left.                  *)
ProducersAfterTruncation(row, log) == ProducersOf(log, BatchesKept)

-----------------------------------------------------------------------------
(* Broker: life, crash and recovery, P22 to P24, C2.                        *)

(* C2.  An answer counts if it is to the request in flight (Q22), so to     *)
(* this incarnation.                                                        *)
RegistrationAccepted(row, m) == row.controllerRequest = m.request

(* Start-up gate: a broker leads or follows only after the controller has   *)
(* confirmed that the broker has applied its own registration.              *)
ActsOnMetadata(row) == row.status # "Starting"

(* P23.  Recovery cuts at the first bad batch.                              *)
RecoveredEnd(row) == IF row.corrupt = Undefined THEN EndOffset(row.log) ELSE row.corrupt

(* S6.  The epoch cache after a restart: entries past the end are dropped.  *)
RecoveredEpochCache(row, end) == CacheTruncate(row.epochCache, end)

(* P23.  The checkpoint may be older than the log, and the log shorter.     *)
RecoveredHighWatermark(row, end) == MaxOf(row.logStart, MinOf(row.checkpoint, end))
=============================================================================
