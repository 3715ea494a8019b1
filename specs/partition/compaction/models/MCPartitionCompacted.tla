------------------------ MODULE MCPartitionCompacted ------------------------
(***************************************************************************)
(* The log of a coordinator as it is: a partition whose leaders change      *)
(* (specs/partition), on each of whose replicas a cleaner is at work        *)
(* (Compaction), loaded by each new leader.  What is loaded is what the     *)
(* models of coordinators take for given (LoadedLog, and with it GroupLog). *)
(*                                                                          *)
(* The two meet at a replica's log and its high watermark, and what a       *)
(* cleaner does the partition cannot see.  So a step of the partition is    *)
(* one of MCPartitionTail's, and what it did to a log is done to what is    *)
(* left of it: what a leader appends its coordinator has written, which it  *)
(* does when it has loaded; a follower copies what its leader has left;     *)
(* what another leader does not have is cut; who takes an epoch up loads.   *)
(* Cleaners go by the high watermark that the broker has.                   *)
(*                                                                          *)
(* One key, which each batch writes again, as each record of a GroupLog is  *)
(* all that the group is; keys and tombstones are those of MCCompaction.    *)
(* A fetch is used at once (AtomicFetch), since what its leader has left    *)
(* may be less later; it ends after any record, where Kafka's ends after    *)
(* one that is left: which epochs a follower then knows has its own model   *)
(* (MCCompactionEpochs).                                                    *)
(***************************************************************************)
EXTENDS MCPartitionTail

CONSTANTS
  MaxRolls,
  MaxPasses       \* of cleaners

VARIABLES
  replicas,       \* replicas[n]: of broker n, its row of Compaction
  worked

compactedVars == <<tailVars, replicas, worked>>

Key == 1
C == INSTANCE CompactionProperties WITH Replicas <- Brokers, Keys <- {Key}

None == [type |-> "None"]

RowsOf(outcomes) == {o.row : o \in outcomes}
Otherwise(outcomes, row) ==
  IF outcomes = {} THEN row ELSE CHOOSE after \in RowsOf(outcomes) : TRUE

-----------------------------------------------------------------------------
(* What a step of the partition does to what is left of a log.              *)

IsElected(n) ==
  /\ IsLeader(rows'[n])
  /\ ~IsLeader(rows[n]) \/ rows'[n].leaderEpoch # rows[n].leaderEpoch

Ended(n) ==
  CASE rows'[n].incarnation # rows[n].incarnation ->
         Otherwise(C!Step_HandleReplicaCrash(n, replicas[n], None), replicas[n])
    [] IsLeader(rows[n]) /\ (IsElected(n) \/ ~IsLeader(rows'[n])) ->
         Otherwise(C!Step_HandleUnload(n, replicas[n], None), replicas[n])
    [] OTHER -> replicas[n]

Written(n) ==
  [offset |-> Len(rows[n].log), value |-> rows'[n].log[Len(rows'[n].log)].value,
   keys |-> {Key}, removed |-> {}, kept |-> {Key}]

Copied(n) ==
  LET source == replicas[rows[n].leader]
  IN [batches |-> SubSeq(source.log, Len(rows[n].log) + 1, Len(rows'[n].log)),
      covered |-> source.covered]

(* Empty: the partition must not do that, as its coordinator has not loaded.*)
Followed(n) ==
  LET before == Len(rows[n].log)
      after == Len(rows'[n].log)
      row == Ended(n)
  IN CASE after < before -> RowsOf(C!Step_HandleCutReplica(n, row, [to |-> after]))
       [] after > before /\ IsLeader(rows[n]) ->
            RowsOf(C!Step_HandleAppendBatch(n, row, [batch |-> Written(n)]))
       [] after > before -> RowsOf(C!Step_HandleCopyBatches(n, row, Copied(n)))
       [] IsElected(n) -> RowsOf(C!Step_HandleStartLoading(n, row, None))
       [] OTHER -> {row}

PartitionStep ==
  /\ MCNext
  /\ TailNext
  /\ \A n \in Brokers : Followed(n) # {}
  /\ replicas' = [n \in Brokers |-> CHOOSE row \in Followed(n) : TRUE]
  /\ UNCHANGED worked

-----------------------------------------------------------------------------
(* What a broker does with its replica by itself.                           *)

Becomes(n, outcomes) ==
  /\ \E row \in RowsOf(outcomes) : replicas' = [replicas EXCEPT ![n] = row]
  /\ UNCHANGED tailVars

Work(budget, limit) ==
  /\ worked[budget] < limit
  /\ worked' = [worked EXCEPT ![budget] = @ + 1]

Roll(n) ==
  Work("rolls", MaxRolls) /\ Becomes(n, C!Step_HandleRollSegment(n, replicas[n], None))

StartCleaning(n) ==
  /\ Work("passes", MaxPasses)
  /\ Becomes(n, C!Step_HandleStartCleaning(n, replicas[n],
                  [highWatermark |-> rows[n].highWatermark]))

CleanSegment(n) ==
  /\ Becomes(n, C!Step_HandleCleanSegment(n, replicas[n], [expired |-> 0]))
  /\ UNCHANGED worked

Read(n) == Becomes(n, C!Step_HandleReadBatch(n, replicas[n], None)) /\ UNCHANGED worked

CompactedInit ==
  /\ TailInit
  /\ replicas = [n \in Brokers |->
                   [C!InitialRow(n) EXCEPT !.state = IF IsLeader(rows[n]) THEN "Loaded"
                                                     ELSE "Idle"]]
  /\ worked = [rolls |-> 0, passes |-> 0]

CompactedNext ==
  \/ PartitionStep
  \/ \E n \in Brokers : Roll(n) \/ StartCleaning(n) \/ CleanSegment(n) \/ Read(n)

CompactedSpec == CompactedInit /\ [][CompactedNext]_compactedVars

-----------------------------------------------------------------------------

(* The two have one log.                                                    *)
SameLog ==
  \A n \in Brokers :
    Values(rows[n].log) = [at \in 1..Len(replicas[n].log) |-> replicas[n].log[at].value]

KeptIsReplayed == C!KeptIsReplayed
LoadedIsReplayed == C!LoadedIsReplayed
CleansCommitted == C!CleansCommitted

(* Who may be elected has all by which something of its log was superseded  *)
(* (what KeptIsReplayed asks for).                                          *)
CandidateIsCovered ==
  \A n \in controller.partition.isr \cup controller.partition.elr :
    IsRunning(n) => Len(replicas[n].log) >= replicas[n].covered

(* A coordinator that has loaded works on the last record of the TailLog:   *)
(* nothing of what it relies on was cleaned away.                           *)
LoadedIsLast ==
  LET n == leading.broker
      last == T!LastOf(tail)
  IN IsLeader(rows[n]) /\ rows[n].leaderEpoch = leading.epoch /\ replicas[n].state = "Loaded" =>
       replicas[n].loaded = IF last = NoRecord THEN {} ELSE {[key |-> Key, value |-> last]}

-----------------------------------------------------------------------------
(* For a twin: the cleaner does not stop at the high watermark.             *)
PastHighWatermark(row, highWatermark) == C!ActiveSegment(row)

(* Probe: one is elected that loads a log with a hole that it copied.       *)
NoCleanedLogLoadedProbe ==
  LET n == leading.broker
      log == replicas[n].log
  IN ~(/\ leading.epoch > 1 /\ replicas[n].state = "Loaded" /\ replicas[n].cleaned = 0
       /\ \E at \in 1..Len(log) : log[at].kept = {})
=============================================================================
