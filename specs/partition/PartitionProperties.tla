------------------------ MODULE PartitionProperties -------------------------
(***************************************************************************)
(* Named properties of partition replication, and the history variables     *)
(* that they need (L5). The simulator and the reports use the same names    *)
(* (reference/partition/properties.py).                                     *)
(*                                                                          *)
(* Law of this file: no decision of PartitionRules is used (Brokers and     *)
(* addresses are only names). So a replaced rule never replaces the         *)
(* property that should detect it. Responses to clients are computed by the *)
(* handlers: a rule may change a response, but not the property that checks *)
(* it.                                                                      *)
(*                                                                          *)
(* A broker is running when its process is up and knows the epoch of its    *)
(* registration. A broker that lost part of its log and has not registered  *)
(* yet may still be in the controller's ISR. No property covers it.         *)
(***************************************************************************)
EXTENDS PartitionReplication

VARIABLES
  committed,   \* P8: the longest prefix that any leader's high watermark covered
  acked        \* the values of acks=all that were answered without an error

vars == <<rows, controller, metadata, network, committed, acked>>

HistoryInit == committed = <<>> /\ acked = {}

(* The log up to `end`, with deleted records replaced by the old ones.      *)
Merged(log, old, end) ==
  [i \in 1..end |-> IF log[i] = Gone /\ i <= Len(old) THEN old[i] ELSE log[i]]

CommittedAfter(oldCommitted, newRows) ==
  LET ahead == {n \in Brokers : /\ IsLeader(newRows[n])
                                /\ newRows[n].highWatermark > Len(oldCommitted)}
  IN IF ahead = {} THEN oldCommitted
     ELSE LET n == CHOOSE n \in ahead : TRUE
          IN Merged(newRows[n].log, oldCommitted, newRows[n].highWatermark)

AckedIn(sent) ==
  UNION {{m.request.values[i] : i \in 1..Len(m.request.values)} :
         m \in {m \in sent : m.type = "ProduceResponse" /\ m.error = "NONE"
                             /\ m.request.acks = -1}}

HistoryNext ==
  /\ committed' = CommittedAfter(committed, rows')
  /\ acked' = acked \cup AckedIn(network' \ network)

-----------------------------------------------------------------------------
(* Definitions.                                                             *)

IsRunning(n) == IsUp(rows[n]) /\ rows[n].brokerEpoch # Undefined

ChosenLeader == controller.partition.leader

(* A leader that the controller has not replaced.                           *)
IsCurrentLeader(n) ==
  /\ IsLeader(rows[n]) /\ ChosenLeader = n
  /\ rows[n].leaderEpoch = controller.partition.leaderEpoch

MinCopies == MinOf(MinInsyncReplicas, Cardinality(Brokers))

SameRecord(a, b) == a = b \/ a = Gone \/ b = Gone

AgreeBelow(a, b, end) ==
  /\ Len(a) >= end /\ Len(b) >= end
  /\ \A i \in 1..end : SameRecord(a[i], b[i])

HoldsCommitted(log) == AgreeBelow(log, committed, Len(committed))

ValuesIn(log) == {log[i].value : i \in 1..Len(log)}

CountsAsInSync(row) ==
  row.isr \cup (IF row.pending.kind = "Expand" THEN {m.broker : m \in row.pending.isr} ELSE {})

-----------------------------------------------------------------------------
(* Types.                                                                   *)

Offsets(log) == -1..Len(log)

(* Every field of a broker's row has a value of its type, and fields fit    *)
(* the role. Misses: a value of the right type that is wrong in this state. *)
PartitionRowTypeInv ==
  \A n \in Brokers :
    LET row == rows[n] IN
    /\ row.status \in {"Starting", "Running", "ShuttingDown", "Down"}
    /\ row.role \in {"None", "Leader", "Follower"}
    /\ row.status = "Down" => row.role = "None"
    /\ row.leader \in Brokers \cup {Nobody}
    /\ row.leaderEpoch \in Int /\ row.partitionEpoch \in Int
    /\ row.flushed \in 0..Len(row.log) /\ row.corrupt \in Offsets(row.log)
    /\ row.role = "Leader" => row.leader = n /\ n \in row.isr
    /\ row.role # "Leader" => /\ row.isr = {} /\ row.pending = NoPending
                              /\ row.remotes = NoRemotes /\ row.parked = {}
    /\ row.role = "Leader" <=> row.epochStart # Undefined
    /\ row.epochStart \in Offsets(row.log)
    /\ row.pending.kind \in {"None", "Expand", "Shrink"}
    /\ \A b \in Brokers : row.remotes[b].endOffset >= -1

(* Every field of the controller's row has a value of its type. Misses: a   *)
(* value of the right type that is wrong in this state.                     *)
ControllerTypeInv ==
  LET partition == controller.partition IN
  /\ partition.leader \in Brokers \cup {Nobody}
  /\ partition.leaderEpoch \in Nat /\ partition.partitionEpoch \in Nat
  /\ partition.isr \subseteq Brokers /\ partition.elr \subseteq Brokers
  /\ partition.lastKnownLeader \in Brokers \cup {Nobody}
  /\ partition.recovering \in BOOLEAN
  /\ \A b \in Brokers : /\ controller.registrations[b].epoch \in Int
                        /\ controller.registrations[b].fenced \in BOOLEAN
                        /\ controller.registrations[b].stopping \in BOOLEAN

-----------------------------------------------------------------------------
(* The controller (C0 to C13).                                              *)

(* The chosen leader is in the ISR. Misses: a leader that should not be in  *)
(* the ISR.                                                                 *)
LeaderInIsr == ChosenLeader # Nobody => ChosenLeader \in controller.partition.isr

(* ISR and ELR are disjoint. An ISR of at least min ISR leaves no ELR.      *)
(* Misses: a missing member, and members that lack records.                 *)
ValidControllerIsrAndElr ==
  LET partition == controller.partition IN
  /\ partition.isr \cap partition.elr = {}
  /\ Cardinality(partition.isr) >= MinCopies => partition.elr = {}
  /\ ~ElrEnabled => partition.elr = {} /\ partition.isr # {}

(* No fenced broker is in the ISR. Without ELR its last member may be       *)
(* fenced (C10). A stopping broker may be in it, because Kafka elects a     *)
(* broker that it unfences without checking this: a heartbeat from before   *)
(* the stop may arrive after the session has timed out. Misses: dead        *)
(* brokers that are not fenced yet, and the ELR.                            *)
ValidControllerState ==
  LET isr == controller.partition.isr IN
  (ElrEnabled \/ Cardinality(isr) > 1) =>
    \A b \in isr : ~controller.registrations[b].fenced

(* An elected leader is not fenced, and is not stopping unless it was just  *)
(* unfenced (KAFKA-19522). Misses: a leader that was fenced after its       *)
(* election.                                                                *)
FencedNeverElectedStep ==
  LET leader == controller'.partition.leader IN
  (controller'.partition.leaderEpoch # controller.partition.leaderEpoch /\ leader # Nobody)
    => /\ ~controller'.registrations[leader].fenced
       /\ controller'.registrations[leader].stopping => controller.registrations[leader].fenced
FencedNeverElected == [][FencedNeverElectedStep]_vars

-----------------------------------------------------------------------------
(* The ISR and the high watermark.                                          *)

(* Every running member of a leader's ISR has the leader's log up to its    *)
(* high watermark. Excepted is a member with a new broker epoch that the    *)
(* leader has not read yet. Misses: followers outside the ISR, and members  *)
(* that are down.                                                           *)
WeakIsr ==
  \A n \in Brokers :
    IsLeader(rows[n]) =>
      \A r \in rows[n].isr :
        (IsRunning(r) /\ (r = n \/ rows[r].brokerEpoch = rows[n].image.brokers[r].epoch))
          => AgreeBelow(rows[r].log, rows[n].log, rows[n].highWatermark)

(* Every running member of the controller's ISR has the log of any leader   *)
(* up to its high watermark. Misses: brokers that are down, and the ELR     *)
(* (see LeaderCandidateCompleteness).                                       *)
StrongIsr ==
  \A n \in Brokers :
    IsLeader(rows[n]) =>
      \A r \in controller.partition.isr :
        IsRunning(r) => AgreeBelow(rows[r].log, rows[n].log, rows[n].highWatermark)

(* The logs of the controller's ISR reach the high watermark of the current *)
(* leader. Misses: other records below the high watermark than the leader's *)
(* (see StrongIsr).                                                         *)
ValidHighWatermark ==
  \A n \in Brokers :
    IsCurrentLeader(n) =>
      \A r \in controller.partition.isr :
        IsRunning(r) => Len(rows[r].log) >= rows[n].highWatermark

(* The high watermark of the current leader waits for every broker that can *)
(* be elected. Misses: a leader that waits for enough brokers and still     *)
(* advances too early, and replaced leaders.                                *)
ReplicationQuorumSuperset ==
  \A n \in Brokers :
    (IsCurrentLeader(n) /\ Cardinality(rows[n].isr) >= MinCopies) =>
      \A r \in controller.partition.isr \cup controller.partition.elr :
        IsRunning(r) => r \in CountsAsInSync(rows[n])

-----------------------------------------------------------------------------
(* Data.                                                                    *)

(* Every running member of the ISR or the ELR has all committed records.    *)
(* Misses: members that are down, and acknowledged records that no high     *)
(* watermark covered.                                                       *)
LeaderCandidateCompleteness ==
  \A r \in controller.partition.isr \cup controller.partition.elr :
    IsRunning(r) => HoldsCommitted(rows[r].log)

(* The chosen leader, if it runs, has all committed records and all         *)
(* acknowledged values. Misses: a leader that is down; acknowledged values  *)
(* after records were deleted from the start of the log.                    *)
PartitionLeaderCompleteness ==
  (ChosenLeader # Nobody /\ IsRunning(ChosenLeader)) =>
    LET row == rows[ChosenLeader] IN
    /\ HoldsCommitted(row.log)
    /\ row.logStart = 0 => acked \subseteq ValuesIn(row.log)

(* The logs of two running brokers agree below both high watermarks.        *)
(* Misses: a difference above one of them, and brokers that are down.       *)
PartitionLogMatching ==
  \A a, b \in Brokers :
    (IsUp(rows[a]) /\ IsUp(rows[b])) =>
      AgreeBelow(rows[a].log, rows[b].log,
                 MinOf(rows[a].highWatermark, rows[b].highWatermark))

(* Some log has each committed record. Misses: a record that remains only   *)
(* in a log that can never lead.                                            *)
NoCommittedRecordLost ==
  \A i \in 1..Len(committed) :
    \E n \in Brokers : Len(rows[n].log) >= i /\ SameRecord(rows[n].log[i], committed[i])

(* The committed log only grows, and a leader's high watermark never        *)
(* decreases during its epoch. Misses: a high watermark that decreases from *)
(* one leader to the next (see MonotonicListOffsets).                       *)
MonotonicTrueHighWatermarkStep ==
  /\ IsPrefixOf(committed, committed')
  /\ \A n \in Brokers :
       (/\ IsLeader(rows[n]) /\ IsLeader(rows'[n])
        /\ rows[n].leaderEpoch = rows'[n].leaderEpoch)
         => rows'[n].highWatermark >= rows[n].highWatermark
MonotonicTrueHighWatermark == [][MonotonicTrueHighWatermarkStep]_vars

(* When a value is acknowledged, min ISR brokers have it, deleted records   *)
(* up to it, or have lost it in a crash that the controller has not noticed *)
(* yet. Misses: enough copies outside the ISR, and copies that are lost     *)
(* later.                                                                   *)
AckedHasMinIsrCopiesStep ==
  \A value \in acked' \ acked :
    Cardinality({n \in Brokers : \/ value \in ValuesIn(rows'[n].log)
                                \/ rows'[n].logStart > 0
                                \/ rows'[n].brokerEpoch = Undefined}) >= MinCopies
AckedHasMinIsrCopies == [][AckedHasMinIsrCopiesStep]_vars

(* No log has a value twice. Clients send a value once, or repeatedly as    *)
(* idempotent producers. Misses: a second copy after the first one is gone, *)
(* and a lost value.                                                        *)
NoDuplicate ==
  \A n \in Brokers :
    LET log == rows[n].log IN
    \A i, j \in 1..Len(log) :
      (i # j /\ log[i] # Gone /\ log[i].value # Corrupt) => log[i].value # log[j].value

-----------------------------------------------------------------------------
(* Responses to clients.                                                    *)

ConsumerFetch(n, offset) ==
  [type |-> "ConsumerFetchRequest", source |-> Clients, destination |-> n, epoch |-> Undefined,
   fetchOffset |-> offset, fromFollower |-> TRUE]

(* Consumer fetches return committed records only. Misses: a committed      *)
(* record that is not returned, and fetches in flight.                      *)
ReadOnlyCommitted ==
  \A n \in Brokers :
    IsUp(rows[n]) =>
      \A offset \in rows[n].logStart..Len(rows[n].log) :
        \A m \in UNION {outcome.sent : outcome \in
                 Step_HandleConsumerFetchRequest(n, rows[n], ConsumerFetch(n, offset))} :
          \A i \in 1..Len(m.records) :
            /\ m.request.fetchOffset + i <= Len(committed)
            /\ SameRecord(m.records[i], committed[m.request.fetchOffset + i])

ListLatest(n) ==
  [type |-> "ListOffsetsRequest", source |-> Clients, destination |-> n, epoch |-> Undefined,
   timestamp |-> "Latest"]

(* The latest offset that a current leader returns is at least the          *)
(* committed end, so clients never see it decrease (KIP-207). Misses:       *)
(* replaced leaders, and an offset that is too large.                       *)
MonotonicListOffsets ==
  \A n \in Brokers :
    IsCurrentLeader(n) =>
      \A outcome \in Step_HandleListOffsetsRequest(n, rows[n], ListLatest(n)) :
        \A m \in outcome.sent : m.error = "NONE" => m.offset >= Len(committed)

DeleteUpTo(n, offset) ==
  [type |-> "DeleteRecordsRequest", source |-> Clients, destination |-> n, offset |-> offset]

(* A current leader confirms a deletion only after all replicas that it     *)
(* knows as unfenced have made it (S9). Misses: fenced replicas, which may  *)
(* lead again from the ELR.                                                 *)
DeletedEverywhere ==
  \A n \in Brokers :
    (IsCurrentLeader(n) /\ rows[n].logStart > 0) =>
      \A outcome \in
         Step_HandleDeleteRecordsRequest(n, rows[n], DeleteUpTo(n, rows[n].logStart)) :
        \A m \in outcome.sent :
          m.error = "NONE" =>
            \A b \in Brokers :
              ~rows[n].image.brokers[b].fenced => rows[b].logStart >= m.offset

-----------------------------------------------------------------------------
(* One broker.                                                              *)

(* Log start, high watermark and log end are in order. Misses: a wrong      *)
(* position that keeps this order.                                          *)
LogBounds ==
  \A n \in Brokers :
    IsUp(rows[n]) => /\ 0 <= rows[n].logStart
                     /\ rows[n].logStart <= rows[n].highWatermark
                     /\ rows[n].highWatermark <= Len(rows[n].log)

RECURSIVE CacheFrom(_, _, _)
CacheFrom(cache, log, i) ==
  CASE i > Len(log) -> cache
    [] log[i] = Gone -> CacheFrom(cache, log, i + 1)
    [] OTHER -> CacheFrom(CacheAssign(cache, log[i].epoch, i - 1), log, i + 1)

(* The epoch cache is the one that the log implies, with at most one more   *)
(* entry at its end, for an epoch without records. Misses: a wrong log with *)
(* the matching cache, and brokers that are down.                           *)
PartitionEpochCacheSound ==
  \A n \in Brokers :
    IsUp(rows[n]) =>
      LET cache == rows[n].epochCache
          implied == CacheFrom(<<>>, rows[n].log, 1)
      IN \/ cache = implied
         \/ /\ Len(cache) = Len(implied) + 1
            /\ SubSeq(cache, 1, Len(implied)) = implied
            /\ cache[Len(cache)].start = Len(rows[n].log)

(* A broker's image is that of a prefix of the committed metadata. Misses:  *)
(* metadata that is read late or never, and wrong decisions that are        *)
(* committed.                                                               *)
MetadataLogMatching ==
  \A n \in Brokers :
    IsUp(rows[n]) =>
      /\ rows[n].image.offset <= InitialOffset + Len(metadata)
      /\ rows[n].image =
           Folded(InitialImage, SubSeq(metadata, 1, rows[n].image.offset - InitialOffset))

-----------------------------------------------------------------------------
(* Refinement.                                                              *)

KnownCommitted ==
  [n \in Brokers |->
     IF IsLeader(rows[n]) THEN Merged(rows[n].log, committed, rows[n].highWatermark)
     ELSE <<>>]

Abstract == INSTANCE CommittedLog WITH Nodes <- Brokers, known <- KnownCommitted

(* A partition implements one committed log that only grows; each leader    *)
(* knows a prefix of it. Misses: a leader that is the first to call a       *)
(* record committed that the ISR does not have, because its high watermark  *)
(* defines the committed log.                                               *)
PartitionRefinesCommittedLog == Abstract!Spec
=============================================================================
