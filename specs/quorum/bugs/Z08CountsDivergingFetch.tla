---------------------- MODULE Z08CountsDivergingFetch -----------------------
(* Z08 (Q13): the leader notes the fetch offset before it compares the      *)
(* epochs, so the high watermark covers records that the follower lacks.    *)
EXTENDS QuorumRules

Z08_FetchUpdatesEndOffset(diverges) == TRUE
=============================================================================
