------------------------- MODULE Z215StaticTakenOver -------------------------
(* Z215 (a mutant; the classic protocol does so): who joins under an        *)
(* instance id replaces the member that has it, left or not (G13).          *)
EXTENDS GroupRules

Z215_InstanceError(holder, m) == IF m.epoch = JoinEpoch THEN "NONE" ELSE "FENCED_INSTANCE_ID"
=============================================================================
