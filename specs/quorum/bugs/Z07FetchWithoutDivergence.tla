--------------------- MODULE Z07FetchWithoutDivergence ----------------------
(* Z07 (Q13): the leader serves any offset, and a follower that diverged    *)
(* appends after its own tail.                                              *)
EXTENDS QuorumRules

Z07_FetchDiverges(row, m) == FALSE
=============================================================================
