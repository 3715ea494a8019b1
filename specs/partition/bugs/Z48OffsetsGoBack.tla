-------------------------- MODULE Z48OffsetsGoBack ---------------------------
(* Z48 (KIP-207, KAFKA-2334): a new leader names its high watermark before  *)
(* it is known to be current.                                               *)
EXTENDS PartitionRules

Z48_ListOffsetsError(row) == IF row.role = "Leader" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER"
==============================================================================
