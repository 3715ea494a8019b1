----------------------- MODULE Z04CommitsOlderEpochs ------------------------
(* Z04 (Raft figure 8): entries of older epochs count as committed before   *)
(* the leader has committed one of its own.                                 *)
EXTENDS QuorumRules

Z04_CoversOwnEpoch(row, offset) == TRUE
=============================================================================
