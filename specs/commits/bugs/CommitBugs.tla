----------------------------- MODULE CommitBugs ------------------------------
(* Known bugs, by the numbers of bugs.toml in the reference: what each of   *)
(* them puts in the place of an operator is named after both.               *)
EXTENDS CommitRules

(* Z182 (a mutant): a commit of any earlier epoch is accepted, also of who  *)
(* has lost the partition (G30).                                            *)
Z182_AcceptsCommit(group, member, epoch) == epoch <= member.epoch

(* Z183 (a mutant): a commit is answered before it is committed (G3).       *)
Z183_IsAnswered(row) == TRUE

(* Z184 (a mutant): who takes a partition begins with its first record,     *)
(* whatever is committed (G28).                                             *)
Z184_Beginning(group) == 0
==============================================================================
