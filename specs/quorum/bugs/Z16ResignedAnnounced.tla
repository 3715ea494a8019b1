------------------------ MODULE Z16ResignedAnnounced ------------------------
(* Z16 (KAFKA-17333): whoever is named leader of the epoch is announced to  *)
(* its state machine, before that has caught up.                            *)
EXTENDS QuorumRules

Z16_MayAnnounceLeader(row) == row.role \in {"Leader", "Resigned"}
=============================================================================
