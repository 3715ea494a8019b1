----------------------- MODULE Z246OffsetOfOldTopic -------------------------
(* Z246 (a mutant): an offset of a deleted topic is returned to a member    *)
(* that asks for the new one (G33).                                         *)
EXTENDS GroupRules

Z246_IsOfTopic(row, each) == TRUE
=============================================================================
