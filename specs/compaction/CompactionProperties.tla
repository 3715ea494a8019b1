------------------------- MODULE CompactionProperties -------------------------
(***************************************************************************)
(* What a broker promises of its replica of a compacted partition, as named *)
(* properties.                                                              *)
(*                                                                          *)
(* Law of this file: no operator of CompactionRules is used.                *)
(***************************************************************************)
EXTENDS Compaction

VARIABLE replicas    \* replicas[n]: the row of broker n

(* What a log says that nothing was cleaned of: the batch that counts, of   *)
(* each key that has one.                                                   *)
LastOf(log, key) ==
  LET all == {at \in 1..Len(log) : key \in log[at].keys}
  IN IF all = {} THEN 0 ELSE CHOOSE at \in all : \A other \in all : at >= other

Said(log) ==
  {[key |-> k, value |-> log[LastOf(log, k)].value] :
     k \in {k \in Keys : LastOf(log, k) # 0 /\ k \notin log[LastOf(log, k)].removed}}

(* The same of what is left of it.                                          *)
LastKept(row, key) ==
  LET all == {at \in 1..Len(row.log) : key \in row.log[at].kept}
  IN IF all = {} THEN 0 ELSE CHOOSE at \in all : \A other \in all : at >= other

SaidByKept(row) ==
  {[key |-> k, value |-> row.log[LastKept(row, k)].value] :
     k \in {k \in Keys : LastKept(row, k) # 0 /\ k \notin row.log[LastKept(row, k)].removed}}

-----------------------------------------------------------------------------

(* What is left of a log says what all of it would.  A replica that has not *)
(* got all by which something was superseded may lack something: it is in   *)
(* no ISR.                                                                  *)
KeptIsReplayed ==
  \A n \in Replicas :
    LET row == replicas[n]
    IN Len(row.log) >= row.covered => SaidByKept(row) = Said(row.log)

(* What a coordinator has loaded is what the log says of which nothing was  *)
(* cleaned.                                                                 *)
LoadedIsReplayed ==
  \A n \in Replicas :
    replicas[n].state = "Loaded" => replicas[n].loaded = Said(replicas[n].log)

(* A cleaner keeps away from what is not committed, and from the active     *)
(* segment.                                                                 *)
CleansCommitted ==
  \A n \in Replicas :
    LET row == replicas[n]
    IN /\ row.cleanTo <= row.highWatermark
       /\ \E s \in row.segments : row.cleanTo <= s

(* A batch is where its offset says.                                        *)
OffsetsStay ==
  \A n \in Replicas :
    \A at \in 1..Len(replicas[n].log) : replicas[n].log[at].offset = at - 1
=============================================================================
