--------------------------- MODULE Z84AppliedLate ----------------------------
(* Z84 (KAFKA-17507): a marker is acknowledged before the group has applied *)
(* it, so that the next transaction's offsets may be there by then (X30).   *)
EXTENDS TransactionRules

Z84_IsAppliedAtOnce(offsets) == FALSE
=============================================================================
