----------------------------- MODULE CommitRules ----------------------------
(***************************************************************************)
(* Every decision of the offsets that members of a group commit which has a *)
(* name, beside those of GroupRules (of which StampedEpoch is asked, too):  *)
(* no messages sent, no variables.  A bug is one of these operators         *)
(* replaced.                                                                *)
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

(* G28.  Where who takes the partition begins.                              *)
Beginning(group) == group.offset

(* G33.  Who asks what is committed is a member in its epoch.               *)
TellsOffset(member, epoch) == member.state # "None" /\ epoch = member.epoch
=============================================================================
