----------------------- MODULE Z06VoteWithoutLogCheck -----------------------
(* Z06 (Q6): a nominee with a shorter log wins and truncates what is        *)
(* committed.                                                               *)
EXTENDS QuorumRules

Z06_LogOk(row, m) == TRUE
=============================================================================
