------------------------------ MODULE LoadedLog ------------------------------
(***************************************************************************)
(* A TailLog whose new leader acts when all that it found is committed.     *)
(***************************************************************************)
EXTENDS TailLog

(* No replica that lacks the loaded records can be elected any more. Other  *)
(* replicas may have more records after them: the new leader's high         *)
(* watermark may have been at the end before it led, and then no replica    *)
(* was truncated to its log (MCPartitionTail; unlike WithCommitted).        *)
WithFound(log) ==
  LET end == Len(log.leader)
      holding == {t \in log.tails : Len(t) >= end /\ SubSeq(t, 1, end) = log.leader}
  IN [committed |-> LastOf(log), leader |-> <<>>,
      tails |-> {SubSeq(t, end + 1, Len(t)) : t \in holding}]
=============================================================================
