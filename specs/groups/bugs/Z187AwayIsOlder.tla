-------------------------- MODULE Z187AwayIsOlder ---------------------------
(* Z187 (Apache Kafka 4.3.1): a partition is taken in a larger epoch alone; *)
(* that of a member that has left for a while is smaller than any (G50).    *)
EXTENDS GroupRules

Z187_MayTake(heldEpoch, epoch) == heldEpoch = Unknown \/ heldEpoch < epoch
=============================================================================
