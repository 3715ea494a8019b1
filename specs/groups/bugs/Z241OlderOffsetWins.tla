------------------------ MODULE Z241OlderOffsetWins -------------------------
(* Z241 (a mutant): a transaction's offset becomes the group's although     *)
(* another one was committed after it (G32).                                *)
EXTENDS GroupRules

Z241_IsNewest(each) == TRUE
=============================================================================
