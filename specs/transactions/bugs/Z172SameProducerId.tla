------------------------ MODULE Z172SameProducerId -------------------------
(* Z172: an id that was forgotten comes back with the producer id that it   *)
(* had, and its first epoch (X27).                                          *)
EXTENDS TransactionRules

Z172_ReturnedEpoch(epoch) == (epoch \div EpochsOfId) * EpochsOfId
============================================================================
