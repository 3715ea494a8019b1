---------------------- MODULE Z47NoFetchBeforeJoining -----------------------
(* Z47: a replica is removed and added again in one update of the metadata, *)
(* and the leader goes on with what it had fetched before its log went.     *)
EXTENDS ReassignmentRules

Z47_KeepsEndOffsets(known, partition) == TRUE
=============================================================================
