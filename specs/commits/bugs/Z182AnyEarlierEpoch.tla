------------------------ MODULE Z182AnyEarlierEpoch -------------------------
(* Z182 (a mutant): a commit of any earlier epoch is accepted, also of who  *)
(* has lost the partition (G30).                                            *)
EXTENDS CommitRules

Z182_AcceptsCommit(group, member, epoch) == epoch <= member.epoch
=============================================================================
