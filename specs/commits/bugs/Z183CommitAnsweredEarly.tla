----------------------- MODULE Z183CommitAnsweredEarly ----------------------
(* Z183 (a mutant): a commit is answered before it is committed (G3).       *)
EXTENDS CommitRules

Z183_IsAnswered(row) == TRUE
=============================================================================
