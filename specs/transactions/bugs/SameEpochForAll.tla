-------------------------- MODULE SameEpochForAll ---------------------------
(* A fault for properties to find: InitProducerId hands out the epoch that  *)
(* another instance has (X7).                                               *)
EXTENDS TransactionRules

Fault_InitialisedEpoch(epoch) == epoch
=============================================================================
