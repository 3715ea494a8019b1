---------------------- MODULE Z10SoleVoterChecksQuorum ----------------------
(* Z10 (KAFKA-16144): check-quorum with one voter.  Nobody fetches from it, *)
(* so its timer expires, and it resigns again and again.                    *)
EXTENDS QuorumRules

Z10_CheckQuorumApplies == TRUE
=============================================================================
