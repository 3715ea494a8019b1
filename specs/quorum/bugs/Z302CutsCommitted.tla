-------------------------- MODULE Z302CutsCommitted -------------------------
(* Z302 (Q16): a leader that lacks committed records has its followers cut  *)
(* them, and none of them stops.  The leader is one that was voted for      *)
(* without a look at its log.                                               *)
EXTENDS QuorumRules

Z302_LogOk(row, m) == TRUE
Z302_TruncationRefused(row, diverging) == FALSE
=============================================================================
