------------------------- MODULE CompactionProperties -------------------------
(***************************************************************************)
(* Named properties of a broker's replica of a compacted partition.         *)
(*                                                                          *)
(* Law of this file: no operator of CompactionRules is used.                *)
(***************************************************************************)
EXTENDS Compaction

VARIABLE replicas    \* replicas[n]: the row of broker n

(* The state that a log without any cleaning implies: the last value of     *)
(* each key. LastOf is the position of the last batch with the key.         *)
LastOf(log, key) ==
  LET all == {at \in 1..Len(log) : key \in log[at].keys}
  IN IF all = {} THEN 0 ELSE CHOOSE at \in all : \A other \in all : at >= other

Said(log) ==
  {[key |-> k, value |-> log[LastOf(log, k)].value] :
     k \in {k \in Keys : LastOf(log, k) # 0 /\ k \notin log[LastOf(log, k)].removed}}

(* The same for the records that cleaning has kept.                         *)
LastKept(row, key) ==
  LET all == {at \in 1..Len(row.log) : key \in row.log[at].kept}
  IN IF all = {} THEN 0 ELSE CHOOSE at \in all : \A other \in all : at >= other

SaidByKept(row) ==
  {[key |-> k, value |-> row.log[LastKept(row, k)].value] :
     k \in {k \in Keys : LastKept(row, k) # 0 /\ k \notin row.log[LastKept(row, k)].removed}}

-----------------------------------------------------------------------------

(* The remaining records give the same last value of each key as all        *)
(* records would. A replica that lacks a superseding record is excepted; it *)
(* is not in the ISR. Misses: a replica that was never cleaned and whose    *)
(* log is wrong.                                                            *)
KeptIsReplayed ==
  \A n \in Replicas :
    LET row == replicas[n]
    IN Len(row.log) >= row.covered => SaidByKept(row) = Said(row.log)

(* A coordinator that has loaded has the state of the log before any        *)
(* cleaning. Misses: wrong state before the load has ended.                 *)
LoadedIsReplayed ==
  \A n \in Replicas :
    replicas[n].state = "Loaded" => replicas[n].loaded = Said(replicas[n].log)

(* The cleaner stays below the high watermark and below the active segment. *)
(* Misses: records that were cleaned too early and are committed by now.    *)
CleansCommitted ==
  \A n \in Replicas :
    LET row == replicas[n]
    IN /\ row.cleanTo <= row.highWatermark
       /\ \E s \in row.segments : row.cleanTo <= s

(* The position of a batch is its offset. Misses: the content of the batch. *)
OffsetsStay ==
  \A n \in Replicas :
    \A at \in 1..Len(replicas[n].log) : replicas[n].log[at].offset = at - 1
=============================================================================
