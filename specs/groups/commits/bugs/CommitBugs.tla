----------------------------- MODULE CommitBugs ------------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS CommitRules

(* Z182 (a mutant): a commit of any earlier epoch is accepted, even from a  *)
(* member that has lost the partition (G30).                                *)
Z182_AcceptsCommit(group, member, epoch) == epoch <= member.epoch

(* Z183 (a mutant): a commit is answered before it is committed (G3).       *)
Z183_IsAnswered(row) == TRUE

(* Z184 (a mutant): a new owner of a partition begins with its first        *)
(* record, whatever is committed (G28).                                     *)
Z184_Beginning(group) == 0
==============================================================================
