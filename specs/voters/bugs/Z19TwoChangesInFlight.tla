----------------------- MODULE Z19TwoChangesInFlight ------------------------
(* Z19 (KIP-853): a second change is begun before the first is committed.   *)
EXTENDS VoterRules

Z19_ChangeRefused(row) ==
  IF OwnEpochCommitted(row) THEN "" ELSE "REQUEST_TIMED_OUT"
=============================================================================
