----------------------- MODULE Z184BeginsWithTheFirst -----------------------
(* Z184 (a mutant): who takes a partition begins with its first record,     *)
(* whatever is committed (G28).                                             *)
EXTENDS CommitRules

Z184_Beginning(group) == 0
=============================================================================
