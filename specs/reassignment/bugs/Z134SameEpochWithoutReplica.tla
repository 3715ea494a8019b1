-------------------- MODULE Z134SameEpochWithoutReplica ---------------------
(* Z134: a replica leaves, and the leader epoch stays: its late fetches     *)
(* count, and it may be proposed again.                                     *)
EXTENDS ReassignmentRules

Z134_LeaderEpochBumped(old, new) == new.leader # old.leader
=============================================================================
