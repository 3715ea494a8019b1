-------------------------- MODULE Z13VoteForgotten --------------------------
(* Z13 (KAFKA-17642): a change of role within one epoch drops the vote, and *)
(* the voter votes again.                                                   *)
EXTENDS QuorumRules

Z13_VotedWithinEpoch(row) == Nobody
=============================================================================
