---------------------- MODULE Z116ObserversDoNotFlush -----------------------
(* Z116 (KAFKA-17332): an observer does not flush what it fetches.  Made a  *)
(* voter, it is counted for what it may lose.                               *)
EXTENDS VoterRules

Z116_FlushesAsObserver(row) ==
  FALSE
=============================================================================
