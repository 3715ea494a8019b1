----------------------------- MODULE MCCompaction -----------------------------
(***************************************************************************)
(* The replicas of a compacted partition, each with a cleaner of its own,   *)
(* and a partition with clean elections. Every leader loads the same state  *)
(* as if nothing was ever cleaned.                                          *)
(*                                                                          *)
(* The partition is that of PartitionReplication, without messages. A       *)
(* follower truncates the records that its leader lacks, then copies. The   *)
(* high watermark is the offset up to which all members of the ISR have the *)
(* leader's log. Members of the ISR may be elected. A replaced leader does  *)
(* nothing more.                                                            *)
(*                                                                          *)
(* A tombstone may be removed when every replica and every load is past it: *)
(* no replica lags, and no load takes, as long as delete.retention.ms (24   *)
(* hours).                                                                  *)
(***************************************************************************)
EXTENDS CompactionProperties, TLC

CONSTANTS
  MaxBatches,     \* that are written, in all
  MaxRolls,
  MaxPasses,      \* of cleaners
  MaxElections,   \* after the first one
  MaxLags         \* the ISR shrinks so often

VARIABLES
  leader,
  isr,
  committed,      \* the high watermark
  spent

mcVars == <<replicas, leader, isr, committed, spent>>

None == [type |-> "None"]

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Becomes(n, outcomes) == \E o \in outcomes : replicas' = [replicas EXCEPT ![n] = o.row]

LogOf(n) == replicas[n].log

(* How much of a log another one has.                                       *)
Common(log, other) ==
  LET same == {i \in 0..Len(log) :
                 i <= Len(other) /\ \A j \in 1..i : log[j].value = other[j].value}
  IN CHOOSE i \in same : \A j \in same : i >= j

Least(numbers) == CHOOSE i \in numbers : \A j \in numbers : i <= j

(* The high watermark moves when the leader knows that all in the ISR have  *)
(* what it covers.                                                          *)
Advance(inSync) ==
  LET all == Least({Common(replicas'[leader].log, replicas'[n].log) : n \in inSync})
  IN committed' = IF all > committed THEN all ELSE committed

-----------------------------------------------------------------------------

(* One key is written, or removed (only the first, since they are alike),   *)
(* or all are written.                                                      *)
Batches(offset, value) ==
  LET batch(keys, removed) ==
        [offset |-> offset, value |-> value, keys |-> keys, removed |-> removed, kept |-> keys]
  IN {batch({k}, {}) : k \in Keys} \cup {batch({1}, {1}), batch(Keys, {})}

Write ==
  /\ Spend("batches", MaxBatches)
  /\ \E batch \in Batches(Len(LogOf(leader)), spent.batches + 1) :
       Becomes(leader, Step_HandleAppendBatch(leader, replicas[leader], [batch |-> batch]))
  /\ Advance(isr)
  /\ UNCHANGED <<leader, isr>>

Fetch(n) ==
  LET same == Common(LogOf(leader), LogOf(n))
      of == replicas[leader]
      batches(count) == SubSeq(of.log, same + 1, same + count)
  IN /\ n # leader
     /\ IF same < Len(LogOf(n))
        THEN Becomes(n, Step_HandleCutReplica(n, replicas[n], [to |-> same]))
        ELSE \E count \in 1..(Len(LogOf(leader)) - same) :
               Becomes(n, Step_HandleCopyBatches(n, replicas[n],
                              [batches |-> batches(count), covered |-> of.covered]))
     /\ Advance(isr)
     /\ UNCHANGED <<leader, isr, spent>>

Shrink(n) ==
  /\ Spend("lags", MaxLags)
  /\ n \in isr \ {leader}
  /\ isr' = isr \ {n}
  /\ UNCHANGED replicas
  /\ Advance(isr')
  /\ UNCHANGED leader

Expand(n) ==
  /\ n \notin isr
  /\ Common(LogOf(leader), LogOf(n)) = Len(LogOf(n))
  /\ Len(LogOf(n)) >= committed
  /\ isr' = isr \cup {n}
  /\ UNCHANGED <<replicas, leader, committed, spent>>

(* Another leader is elected, or the same one again.                        *)
Elect(n) ==
  /\ Spend("elections", MaxElections)
  /\ n \in isr
  /\ leader' = n
  /\ LET unloaded == {o.row : o \in Step_HandleUnload(leader, replicas[leader], None)}
         before == IF unloaded = {} THEN replicas
                   ELSE [replicas EXCEPT ![leader] = CHOOSE row \in unloaded : TRUE]
     IN \E o \in Step_HandleStartLoading(n, before[n], None) :
          replicas' = [before EXCEPT ![n] = o.row]
  /\ UNCHANGED <<isr, committed>>

Read ==
  /\ Becomes(leader, Step_HandleReadBatch(leader, replicas[leader], None))
  /\ UNCHANGED <<leader, isr, committed, spent>>

-----------------------------------------------------------------------------

Roll(n) ==
  /\ Spend("rolls", MaxRolls)
  /\ Becomes(n, Step_HandleRollSegment(n, replicas[n], None))
  /\ UNCHANGED <<leader, isr, committed>>

(* A replica's high watermark: a follower receives it with fetched records, *)
(* after it has truncated the records that its leader lacks.                *)
Known(n) == Least({committed, Common(LogOf(leader), LogOf(n))})

StartCleaning(n) ==
  /\ Spend("passes", MaxPasses)
  /\ Becomes(n, Step_HandleStartCleaning(n, replicas[n], [highWatermark |-> Known(n)]))
  /\ UNCHANGED <<leader, isr, committed>>

Passed ==
  Least({Common(LogOf(leader), LogOf(n)) : n \in Replicas}
          \cup {replicas[n].position : n \in {k \in Replicas : replicas[k].state = "Loading"}})

CleanSegment(n) ==
  /\ \E expired \in {0, Passed} :
       Becomes(n, Step_HandleCleanSegment(n, replicas[n], [expired |-> expired]))
  /\ UNCHANGED <<leader, isr, committed, spent>>

MCInit ==
  /\ leader = 1
  /\ isr = Replicas
  /\ committed = 0
  /\ replicas = [n \in Replicas |->
                   [InitialRow(n) EXCEPT !.state = IF n = 1 THEN "Loaded" ELSE "Idle"]]
  /\ spent = [batches |-> 0, rolls |-> 0, passes |-> 0, elections |-> 0, lags |-> 0]

MCNext ==
  \/ Write \/ Read
  \/ \E n \in Replicas :
       Fetch(n) \/ Shrink(n) \/ Expand(n) \/ Elect(n) \/ Roll(n) \/ StartCleaning(n)
         \/ CleanSegment(n)

MCSpec == MCInit /\ [][MCNext]_mcVars

(* A replica that may be elected has all records that supersede others of   *)
(* its log.                                                                 *)
ElectableIsCovered == \A n \in isr : Len(LogOf(n)) >= replicas[n].covered

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

Holes(n) == {at \in 1..Len(LogOf(n)) : LogOf(n)[at].kept = {}}

(* A replica has a hole that it did not make, and has loaded its log.       *)
NoHoleCopiedProbe ==
  \A n \in Replicas :
    ~(Holes(n) # {} /\ replicas[n].cleaned = 0 /\ replicas[n].state = "Loaded"
        /\ spent.elections > 0 /\ replicas[n].aged = {})

(* A segment is cleaned while it is read, before the load comes to its end. *)
NoCleaningAmidLoadProbe ==
  [][\A n \in Replicas :
       ~(/\ replicas[n].state = "Loading" /\ replicas'[n].state = "Loading"
         /\ replicas[n].position \in 1..(Len(LogOf(n)) - 1)
         /\ LogOf(n) # replicas'[n].log)]_mcVars

(* A tombstone goes.                                                        *)
NoTombstoneDroppedProbe ==
  [][\A n \in Replicas :
       LET log == LogOf(n)
           after == replicas'[n].log
       IN Len(log) = Len(after) =>
            \A at \in 1..Len(log) : \A k \in log[at].kept \ after[at].kept :
              k \in log[at].removed =>
                \E later \in (at + 1)..Len(log) : k \in log[later].keys]_mcVars

(* A log that was cleaned is cut.                                           *)
NoCutOfCleanedProbe ==
  [][\A n \in Replicas : ~(Len(replicas'[n].log) < Len(LogOf(n)) /\ Holes(n) # {})]_mcVars
=============================================================================
