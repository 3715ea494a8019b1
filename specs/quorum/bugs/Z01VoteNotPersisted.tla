------------------------ MODULE Z01VoteNotPersisted -------------------------
(* Z01 (KIP-595, Q2): the vote lives in memory only.  After a restart the   *)
(* voter votes again in the same epoch, and two candidates hold a majority. *)
EXTENDS QuorumRules

Z01_PersistedQuorumState(row) ==
  [epoch |-> row.epoch, leader |-> row.leader, voted |-> Nobody]
=============================================================================
