----------------------------- MODULE CommitRules ----------------------------
(***************************************************************************)
(* Every named decision about the offsets that members commit, in addition  *)
(* to GroupRules (StampedEpoch is used too). There are no messages and no   *)
(* variables. A bug replaces one of these operators.                        *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(***************************************************************************)
EXTENDS GroupRules

CONSTANT Followed   \* the partition whose offsets are followed

-----------------------------------------------------------------------------
(* Coordinator.                                                             *)

(* G30.  A member's own epoch, or an earlier one since it has the partition *)
(* (KIP-1251).                                                              *)
AcceptsCommit(group, member, epoch) ==
  \/ epoch = member.epoch
  \/ epoch < member.epoch /\ Followed \in Holding(member) /\ group.since <= epoch

(* G3.  A commit is answered when it is committed.                          *)
IsAnswered(row) == row.log.leader = <<>>

(* Where the new owner of the partition begins (G28).                       *)
Beginning(group) == group.offset

(* A request for the committed offset comes from a member in its epoch      *)
(* (G33).                                                                   *)
TellsOffset(member, epoch) == member.state # "None" /\ epoch = member.epoch
=============================================================================
