---------------------- MODULE Z15ResignedKeepsItsEpoch ----------------------
(* Z15 (KAFKA-18379): a resigned leader stays in its epoch, in which its    *)
(* peers still name it leader: it is told to follow itself.                 *)
EXTENDS QuorumRules

Z15_EpochAfterResigned(epoch) == epoch
=============================================================================
