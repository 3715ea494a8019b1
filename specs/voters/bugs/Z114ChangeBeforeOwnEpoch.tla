---------------------- MODULE Z114ChangeBeforeOwnEpoch ----------------------
(* Z114 (Ongaro, 2015): a leader changes the voters before a record of its  *)
(* own epoch is committed, from a set that another leader changes, too.     *)
EXTENDS VoterRules

Z114_ChangeRefused(row) ==
  LET last == LastOf(row.history).offset
  IN IF row.change # Undefined \/ (last # Undefined /\ last >= row.quorum.highWatermark)
     THEN "REQUEST_TIMED_OUT" ELSE ""
=============================================================================
