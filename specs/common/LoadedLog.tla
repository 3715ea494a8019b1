------------------------------ MODULE LoadedLog ------------------------------
(***************************************************************************)
(* A TailLog whose new leader acts when all that it found is committed.     *)
(***************************************************************************)
EXTENDS TailLog

(* Nobody who lacks what it found can be elected any more.  Of what others  *)
(* have behind it that says nothing: the new leader's high watermark may    *)
(* have been at the end before it led, and then it has cut nobody to its    *)
(* log (MCPartitionTail; unlike WithCommitted).                             *)
WithFound(log) ==
  LET end == Len(log.leader)
      holding == {t \in log.tails : Len(t) >= end /\ SubSeq(t, 1, end) = log.leader}
  IN [committed |-> LastOf(log), leader |-> <<>>,
      tails |-> {SubSeq(t, end + 1, Len(t)) : t \in holding}]
=============================================================================
