--------------------- MODULE Z12FollowersRefusePreVotes ---------------------
(* Z12 (KAFKA-17641): followers refuse every pre-vote.  When the leader is  *)
(* dead, the others stand in turn, and refuse each other for ever.          *)
EXTENDS QuorumRules

Z12_FollowerGrantsPreVote(row, m) == FALSE
=============================================================================
