-------------------------- MODULE Z93MissedRelease ---------------------------
(* Z93 (KAFKA-19862): a partition is taken only by who finds it free; the   *)
(* entry that released it may have been cleaned away (G50).                 *)
EXTENDS GroupRules

Z93_MayTake(heldEpoch, epoch) == heldEpoch = Unknown
=============================================================================
