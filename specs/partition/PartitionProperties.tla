------------------------ MODULE PartitionProperties -------------------------
(***************************************************************************)
(* What partition replication promises, as named properties, and the        *)
(* history variables that they need (L5).  The simulator and the reports    *)
(* use the same names (reference/partition/properties.py).                  *)
(*                                                                          *)
(* Law of this file: no decision of PartitionRules is used (Brokers and     *)
(* addresses are names), so that replacing a rule never replaces the        *)
(* property that should catch it.  What a client would be told is asked of  *)
(* the handlers: an answer may change with a rule, its judge does not.      *)
(*                                                                          *)
(* A broker is running when its process is up and knows the epoch of its    *)
(* registration.  One that lost part of its log and has not registered yet  *)
(* is still in the controller's ISR, and promises nothing.                  *)
(***************************************************************************)
EXTENDS PartitionReplication

VARIABLES
  committed,   \* P8: the longest prefix that any leader's high watermark covered
  acked        \* the values of acks=all that were answered without an error

vars == <<rows, controller, metadata, network, committed, acked>>

HistoryInit == committed = <<>> /\ acked = {}

(* The record at an index, where deleted records are those that were there. *)
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
(* Words.                                                                   *)

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
(* The controller: protocol rules 6.3.                                      *)

LeaderInIsr == ChosenLeader # Nobody => ChosenLeader \in controller.partition.isr

ValidControllerIsrAndElr ==
  LET partition == controller.partition IN
  /\ partition.isr \cap partition.elr = {}
  /\ Cardinality(partition.isr) >= MinCopies => partition.elr = {}
  /\ ~ElrEnabled => partition.elr = {} /\ partition.isr # {}

(* Nobody who is fenced is in the ISR; without ELR, its last member may be  *)
(* (C10).  One who stops may be: Kafka elects whom it unfences without a    *)
(* look at that (a heartbeat from before the stop came late, after the      *)
(* session had timed out).                                                  *)
ValidControllerState ==
  LET isr == controller.partition.isr IN
  (ElrEnabled \/ Cardinality(isr) > 1) =>
    \A b \in isr : ~controller.registrations[b].fenced

FencedNeverElectedStep ==
  LET leader == controller'.partition.leader IN
  (controller'.partition.leaderEpoch # controller.partition.leaderEpoch /\ leader # Nobody)
    => /\ ~controller'.registrations[leader].fenced
       /\ controller'.registrations[leader].stopping => controller.registrations[leader].fenced
FencedNeverElected == [][FencedNeverElectedStep]_vars

-----------------------------------------------------------------------------
(* The ISR and the high watermark.                                          *)

(* Whoever a leader counts as in sync has what the leader calls committed.  *)
(* Not judged: a member that began anew, as long as the leader has not been *)
(* told of it.                                                              *)
WeakIsr ==
  \A n \in Brokers :
    IsLeader(rows[n]) =>
      \A r \in rows[n].isr :
        (IsRunning(r) /\ (r = n \/ rows[r].brokerEpoch = rows[n].image.brokers[r].epoch))
          => AgreeBelow(rows[r].log, rows[n].log, rows[n].highWatermark)

(* ... and so has everyone whom the controller counts.                      *)
StrongIsr ==
  \A n \in Brokers :
    IsLeader(rows[n]) =>
      \A r \in controller.partition.isr :
        IsRunning(r) => AgreeBelow(rows[r].log, rows[n].log, rows[n].highWatermark)

ValidHighWatermark ==
  \A n \in Brokers :
    IsCurrentLeader(n) =>
      \A r \in controller.partition.isr :
        IsRunning(r) => Len(rows[r].log) >= rows[n].highWatermark

(* Nobody can be elected without what the leader's high watermark waits for.*)
ReplicationQuorumSuperset ==
  \A n \in Brokers :
    (IsCurrentLeader(n) /\ Cardinality(rows[n].isr) >= MinCopies) =>
      \A r \in controller.partition.isr \cup controller.partition.elr :
        IsRunning(r) => r \in CountsAsInSync(rows[n])

-----------------------------------------------------------------------------
(* Data.                                                                    *)

(* Whoever may be elected without loss has everything that is committed.    *)
LeaderCandidateCompleteness ==
  \A r \in controller.partition.isr \cup controller.partition.elr :
    IsRunning(r) => HoldsCommitted(rows[r].log)

PartitionLeaderCompleteness ==
  (ChosenLeader # Nobody /\ IsRunning(ChosenLeader)) =>
    LET row == rows[ChosenLeader] IN
    /\ HoldsCommitted(row.log)
    /\ row.logStart = 0 => acked \subseteq ValuesIn(row.log)

PartitionLogMatching ==
  \A a, b \in Brokers :
    (IsUp(rows[a]) /\ IsUp(rows[b])) =>
      AgreeBelow(rows[a].log, rows[b].log,
                 MinOf(rows[a].highWatermark, rows[b].highWatermark))

NoCommittedRecordLost ==
  \A i \in 1..Len(committed) :
    \E n \in Brokers : Len(rows[n].log) >= i /\ SameRecord(rows[n].log[i], committed[i])

(* What was committed stays so, and a leader's high watermark never goes    *)
(* back while it leads.                                                     *)
MonotonicTrueHighWatermarkStep ==
  /\ IsPrefixOf(committed, committed')
  /\ \A n \in Brokers :
       (/\ IsLeader(rows[n]) /\ IsLeader(rows'[n])
        /\ rows[n].leaderEpoch = rows'[n].leaderEpoch)
         => rows'[n].highWatermark >= rows[n].highWatermark
MonotonicTrueHighWatermark == [][MonotonicTrueHighWatermarkStep]_vars

(* A value is answered when enough copies of it exist, or some were deleted *)
(* or lost: a member of the ISR that has crashed since it confirmed a       *)
(* record counts until the controller hears of it.                          *)
AckedHasMinIsrCopiesStep ==
  \A value \in acked' \ acked :
    Cardinality({n \in Brokers : \/ value \in ValuesIn(rows'[n].log)
                                \/ rows'[n].logStart > 0
                                \/ rows'[n].brokerEpoch = Undefined}) >= MinCopies
AckedHasMinIsrCopies == [][AckedHasMinIsrCopiesStep]_vars

(* Clients send a value once, or again and again as idempotent producers.   *)
NoDuplicate ==
  \A n \in Brokers :
    LET log == rows[n].log IN
    \A i, j \in 1..Len(log) :
      (i # j /\ log[i] # Gone /\ log[i].value # Corrupt) => log[i].value # log[j].value

-----------------------------------------------------------------------------
(* What clients are told.                                                   *)

ConsumerFetch(n, offset) ==
  [type |-> "ConsumerFetchRequest", source |-> Clients, destination |-> n, epoch |-> Undefined,
   fetchOffset |-> offset, fromFollower |-> TRUE]

(* Nobody shows a record that is not committed.                             *)
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

(* A current leader that names an offset names the true one, so that no     *)
(* client sees it go back (KIP-207).                                        *)
MonotonicListOffsets ==
  \A n \in Brokers :
    IsCurrentLeader(n) =>
      \A outcome \in Step_HandleListOffsetsRequest(n, rows[n], ListLatest(n)) :
        \A m \in outcome.sent : m.error = "NONE" => m.offset >= Len(committed)

DeleteUpTo(n, offset) ==
  [type |-> "DeleteRecordsRequest", source |-> Clients, destination |-> n, offset |-> offset]

(* S9.  A current leader confirms a deletion only when every replica that   *)
(* it knows as unfenced has made it.                                        *)
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

(* The cache is the one that the log implies, and at most an entry at its   *)
(* end: an epoch without records yet.                                       *)
PartitionEpochCacheSound ==
  \A n \in Brokers :
    IsUp(rows[n]) =>
      LET cache == rows[n].epochCache
          implied == CacheFrom(<<>>, rows[n].log, 1)
      IN \/ cache = implied
         \/ /\ Len(cache) = Len(implied) + 1
            /\ SubSeq(cache, 1, Len(implied)) = implied
            /\ cache[Len(cache)].start = Len(rows[n].log)

(* What a broker knows of the cluster is a prefix of what is committed.     *)
MetadataLogMatching ==
  \A n \in Brokers :
    IsUp(rows[n]) =>
      /\ rows[n].image.offset <= InitialOffset + Len(metadata)
      /\ rows[n].image =
           Folded(InitialImage, SubSeq(metadata, 1, rows[n].image.offset - InitialOffset))

-----------------------------------------------------------------------------
(* Refinement: a partition is one committed log, and each leader knows a    *)
(* prefix of it.                                                            *)

KnownCommitted ==
  [n \in Brokers |->
     IF IsLeader(rows[n]) THEN Merged(rows[n].log, committed, rows[n].highWatermark)
     ELSE <<>>]

Abstract == INSTANCE CommittedLog WITH Nodes <- Brokers, known <- KnownCommitted

PartitionRefinesCommittedLog == Abstract!Spec
=============================================================================
