------------------------- MODULE Z90GivenBackIsFree --------------------------
(* Z90 (KAFKA-16147): what a member has no more to revoke is taken from     *)
(* what is held after what it was given is put there, and these may be the  *)
(* same partitions (G16).                                                   *)
EXTENDS GroupRules

Z90_HeldAfter(held, before, after) ==
  ((held \ before.assigned) \cup Holding(after)) \ (before.pending \ after.pending)
=============================================================================
