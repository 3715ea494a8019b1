-------------------------- MODULE MCCompactionEpochs --------------------------
(***************************************************************************)
(* Where two replicas of a compacted partition part is found by the epochs  *)
(* that they know, and a follower knows those of the batches that it        *)
(* copied, of which a cleaner may have left some.                           *)
(*                                                                          *)
(* The partition is that of MCCompaction, but no step compares two logs. A  *)
(* leader answers a fetch by its own epochs (P13, IsDiverging), and its     *)
(* follower truncates by its own epochs (P14). The log is never loaded, so  *)
(* a leader appends as a follower copies. Each batch writes the one key     *)
(* again, and its value is its epoch.                                       *)
(***************************************************************************)
EXTENDS CompactionProperties, ReplicaLog

CONSTANTS
  Added,          \* the replicas that are no members of the first ISR
  MaxBatches,     \* that are written, in all
  MaxRolls,
  MaxPasses,      \* of cleaners
  MaxElections,   \* after the first one
  MaxLags         \* the ISR shrinks so often

VARIABLES
  leader,
  isr,
  epochs,         \* epochs[n]: those that broker n knows (leader-epoch-checkpoint)
  committed,      \* the values below the high watermark
  spent

mcVars == <<replicas, leader, isr, epochs, committed, spent>>

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Becomes(n, outcomes) == \E o \in outcomes : replicas' = [replicas EXCEPT ![n] = o.row]

(* Where a follower lets an epoch begin of which `batch` is the first that  *)
(* it is given, its log ending at `end`: not at the batch, before which     *)
(* others of that epoch may have been cleaned away.                         *)
EpochBegins(end, batch) == end

(* In Kafka (UnifiedLog.append): at the batch.                              *)
BeginsAtBatch(end, batch) == batch.offset

LogOf(n) == replicas[n].log
EndOf(n) == Len(LogOf(n))
EpochOf(batch) == batch.value \div (MaxBatches + 1)
Values(log) == [at \in 1..Len(log) |-> log[at].value]

(* What a follower is given has no holes: it sees the batches that are left.*)
RECURSIVE EpochsAfter(_, _, _)
EpochsAfter(cache, end, batches) ==
  IF batches = <<>> THEN cache
  ELSE LET batch == Head(batches)
           known == cache # <<>> /\ LatestEpoch(cache) = EpochOf(batch)
       IN CASE batch.kept = {} -> EpochsAfter(cache, end, Tail(batches))
            [] known -> EpochsAfter(cache, batch.offset + 1, Tail(batches))
            [] OTHER -> EpochsAfter(CacheAssign(cache, EpochOf(batch), EpochBegins(end, batch)),
                                    batch.offset + 1, Tail(batches))

-----------------------------------------------------------------------------

Least(numbers) == CHOOSE i \in numbers : \A j \in numbers : i <= j

(* P13.  Where the follower's last epoch ends, as the leader has it.        *)
EndFor(n) == EndOffsetForEpoch(epochs[leader], EndOf(leader), LatestEpoch(epochs[n]))
IsDiverging(n) ==
  /\ epochs[n] # <<>>
  /\ EndFor(n).endOffset < EndOf(n) \/ EndFor(n).epoch < LatestEpoch(epochs[n])

(* A diverging fetch updates nothing at the leader (KAFKA-13141); any other *)
(* fetch does so at once.                                                   *)
FetchedUpTo(n) == IF n # leader /\ IsDiverging(n) THEN 0 ELSE EndOf(n)

Advance(inSync) ==
  LET end == Least({FetchedUpTo(n)' : n \in inSync})
  IN committed' = IF end > Len(committed)
                  THEN SubSeq(Values(LogOf(leader)'), 1, end) ELSE committed

Write ==
  LET value == LatestEpoch(epochs[leader]) * (MaxBatches + 1) + spent.batches + 1
      batch == [offset |-> EndOf(leader), value |-> value, keys |-> Keys, removed |-> {},
                kept |-> Keys]
  IN /\ Spend("batches", MaxBatches)
     /\ Becomes(leader, Step_HandleCopyBatches(leader, replicas[leader],
                                               [batches |-> <<batch>>, covered |-> 0]))
     /\ UNCHANGED <<leader, isr, epochs>>
     /\ Advance(isr)

(* P14.                                                                     *)
CutAt(n) ==
  LET own == EndOffsetForEpoch(epochs[n], EndOf(n), EndFor(n).epoch)
  IN MinOf(MinOf(own.endOffset, EndFor(n).endOffset), EndOf(n))

Cut(n) ==
  /\ n # leader /\ IsDiverging(n)
  /\ IF CutAt(n) < EndOf(n)
     THEN Becomes(n, Step_HandleCutReplica(n, replicas[n], [to |-> CutAt(n)]))
     ELSE UNCHANGED replicas
  /\ epochs' = [epochs EXCEPT ![n] = CacheTruncate(@, CutAt(n))]
  /\ UNCHANGED <<leader, isr, committed, spent>>

(* A log ends after a batch, not after a hole.                              *)
Fetch(n) ==
  /\ n # leader /\ ~IsDiverging(n)
  /\ \E end \in (EndOf(n) + 1)..EndOf(leader) :
       LET batches == SubSeq(LogOf(leader), EndOf(n) + 1, end)
       IN /\ LogOf(leader)[end].kept # {}
          /\ Becomes(n, Step_HandleCopyBatches(n, replicas[n],
                          [batches |-> batches, covered |-> replicas[leader].covered]))
          /\ epochs' = [epochs EXCEPT ![n] = EpochsAfter(@, EndOf(n), batches)]
  /\ UNCHANGED <<leader, isr, spent>>
  /\ Advance(isr)

Shrink(n) ==
  /\ Spend("lags", MaxLags)
  /\ n \in isr \ {leader}
  /\ isr' = isr \ {n}
  /\ UNCHANGED <<replicas, leader, epochs>>
  /\ Advance(isr')

(* Replicas that have fetched up to the high watermark and to the epoch's   *)
(* start (P9).                                                              *)
Expand(n) ==
  /\ n \notin isr /\ ~IsDiverging(n)
  /\ EndOf(n) >= MaxOf(Len(committed), epochs[leader][Len(epochs[leader])].start)
  /\ isr' = isr \cup {n}
  /\ UNCHANGED <<replicas, leader, epochs, committed, spent>>

(* P2: a leader notes its own epoch at its log's end.                       *)
Elect(n) ==
  /\ Spend("elections", MaxElections)
  /\ n \in isr \ {leader}
  /\ leader' = n
  /\ epochs' = [epochs EXCEPT ![n] = CacheAssign(@, spent.elections + 2, EndOf(n))]
  /\ UNCHANGED <<replicas, isr, committed>>

-----------------------------------------------------------------------------

Roll(n) ==
  /\ Spend("rolls", MaxRolls)
  /\ Becomes(n, Step_HandleRollSegment(n, replicas[n], [type |-> "RollSegment"]))
  /\ UNCHANGED <<leader, isr, epochs, committed>>

(* Members of the ISR receive the high watermark.                           *)
StartCleaning(n) ==
  /\ Spend("passes", MaxPasses)
  /\ n \in isr
  /\ Becomes(n, Step_HandleStartCleaning(n, replicas[n],
                  [highWatermark |-> MinOf(Len(committed), EndOf(n))]))
  /\ UNCHANGED <<leader, isr, epochs, committed>>

CleanSegment(n) ==
  /\ Becomes(n, Step_HandleCleanSegment(n, replicas[n], [expired |-> 0]))
  /\ UNCHANGED <<leader, isr, epochs, committed, spent>>

MCInit ==
  /\ leader = 1
  /\ isr = Replicas \ Added
  /\ committed = <<>>
  /\ replicas = [n \in Replicas |-> InitialRow(n)]
  /\ epochs = [n \in Replicas |-> IF n = 1 THEN CacheAssign(<<>>, 1, 0) ELSE <<>>]
  /\ spent = [batches |-> 0, rolls |-> 0, passes |-> 0, elections |-> 0, lags |-> 0]

MCNext ==
  \/ Write
  \/ \E n \in Replicas :
       \/ Cut(n) \/ Fetch(n) \/ Shrink(n) \/ Expand(n) \/ Elect(n)
       \/ Roll(n) \/ StartCleaning(n) \/ CleanSegment(n)

MCSpec == MCInit /\ [][MCNext]_mcVars

-----------------------------------------------------------------------------

(* A replica that may be elected has exactly the committed records at their *)
(* offsets.                                                                 *)
ElectableHasCommitted == \A n \in isr : IsPrefixOf(committed, Values(LogOf(n)))

(* Probe: a batch is cleaned away, the first of its epoch, and a replica    *)
(* copies what follows.                                                     *)
NoFirstMissedProbe ==
  \A n \in Replicas :
    ~\E at \in 2..EndOf(n) :
      /\ LogOf(n)[at - 1].kept = {} /\ replicas[n].cleaned = 0
      /\ EpochOf(LogOf(n)[at]) = EpochOf(LogOf(n)[at - 1])
      /\ at = 2 \/ EpochOf(LogOf(n)[at - 2]) < EpochOf(LogOf(n)[at])
=============================================================================
