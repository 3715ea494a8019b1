-------------------------- MODULE Z217GrowthUnheard --------------------------
(* Z217 (a mutant): another partition of a topic makes no new epoch (G14).  *)
EXTENDS GroupRules

Z217_ChangesMetadata(group, p) == FALSE
=============================================================================
