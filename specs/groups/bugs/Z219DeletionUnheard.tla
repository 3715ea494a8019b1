------------------------- MODULE Z219DeletionUnheard ------------------------
(* Z219 (a mutant): of topics only those are looked at that are there, so   *)
(* that a deletion makes no new epoch (G14).                                *)
EXTENDS GroupRules

Z219_ChangesMetadata(group, p) ==
  p \notin group.grown /\ \E n \in Members : p \in group.members[n].subscribed
=============================================================================
