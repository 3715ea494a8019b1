------------------------ MODULE Z05OwnEpochOffByOne -------------------------
(* Z05 (KAFKA-12619): the guard of Z04, one record too narrow: the leader's *)
(* own LeaderChange record need not be covered.                             *)
EXTENDS QuorumRules

Z05_CoversOwnEpoch(row, offset) == offset >= row.epochStart
=============================================================================
