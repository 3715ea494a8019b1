-------------------------- MODULE Z09NoCheckQuorum --------------------------
(* Z09 (KAFKA-15489): a leader never checks whether it has a quorum.  One   *)
(* that can send but receives nothing leads for ever.                       *)
EXTENDS QuorumRules

Z09_CheckQuorumApplies == FALSE
=============================================================================
