---------------------- MODULE Z27FencedByLastEpochOnly -----------------------
(* Z27 (KIP-320, first try): a fetch is judged by the epoch of the last     *)
(* record that the follower has, and not by the epoch that it is in.        *)
EXTENDS PartitionRules

Z27_FetchEpochError(row, m) == IF row.role = "Leader" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER"
==============================================================================
