--------------------------- MODULE Z216KeptIsFree ---------------------------
(* Z216 (a mutant): epoch -2 is taken for none, so that what is kept for a  *)
(* static member is free for others (G16, G19).                             *)
EXTENDS GroupRules

Z216_HeldAfter(held, before, after) ==
  (held \ Holding(before)) \cup (IF after.epoch < 0 THEN {} ELSE Holding(after))
=============================================================================
