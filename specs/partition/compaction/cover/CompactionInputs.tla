--------------------------- MODULE CompactionInputs ---------------------------
(***************************************************************************)
(* The inputs with fields of a replica, for driving every edge of a graph:  *)
(* the same as `local` of reference/partition/compaction/protocol.py.                 *)
(***************************************************************************)
EXTENDS Compaction

Written(offset, keys, removed) ==
  [offset |-> offset, value |-> offset + 1, keys |-> keys, removed |-> removed, kept |-> keys]

Batches(offset) ==
  {Written(offset, {k}, {}) : k \in Keys} \cup {Written(offset, {k}, {k}) : k \in Keys}
    \cup {Written(offset, Keys, {})}

Copy(batches, covered) == [type |-> "CopyBatches", batches |-> batches, covered |-> covered]

Inputs_AppendBatch(n, row) ==
  {[type |-> "AppendBatch", batch |-> batch] : batch \in Batches(Len(row.log))}

(* A batch, or two of which the leader has cleaned the first one; nobody    *)
(* had that key.                                                            *)
Inputs_CopyBatches(n, row) ==
  LET end == Len(row.log)
      known == UNION {row.log[at].kept : at \in 1..end}
      unknown == {one \in Batches(end) : one.removed # {} /\ one.removed \cap known = {}}
      superseded == {pair \in Batches(end) \X Batches(end + 1)
                     : pair[1].keys \cap pair[2].keys # {}}
  IN {Copy(<<one>>, 0) : one \in Batches(end)}
       \cup {Copy(<<[one EXCEPT !.kept = {}]>>, end + 1) : one \in unknown}
       \cup {Copy(<<[pair[1] EXCEPT !.kept = @ \ pair[2].keys], pair[2]>>, end + 2) :
               pair \in superseded}

Inputs_CutReplica(n, row) ==
  {[type |-> "CutReplica", to |-> to] :
     to \in Larger(row.highWatermark, row.covered)..(Len(row.log) - 1)}

Inputs_StartCleaning(n, row) ==
  {[type |-> "StartCleaning", highWatermark |-> at] : at \in row.highWatermark..Len(row.log)}

Inputs_CleanSegment(n, row) ==
  {[type |-> "CleanSegment", expired |-> at] :
     at \in {0, IF row.state = "Loading" THEN row.position ELSE Len(row.log)}}
==============================================================================
