------------------------ MODULE Z123RemovedJoinsAgain ------------------------
(* Z123 (KAFKA-19850): who was removed and runs on asks to be a voter      *)
(* again, by itself.                                                       *)
EXTENDS VoterRules

Z123_JoinsByItself(n, row) ==
  KraftVersionOf(row) = 1 /\ n \notin VotersOf(row)
==============================================================================
